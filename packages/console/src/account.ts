const KEY = "promptd-account";
let account: string | null = read();

function read(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // storage is disabled: use the personal account
  }
}

/** The account that pages act in; null until the session is known. */
export function chosenAccount(): string | null {
  return account;
}

export function chooseAccount(accountId: string | null): void {
  account = accountId;
  try {
    if (accountId === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, accountId);
  } catch {
    // Storage is disabled: the choice lasts only as long as the page.
  }
}
