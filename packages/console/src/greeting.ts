/** Remembers, in this browser, whether a person who used a welcome link still has to be greeted. */
const KEY = "promptd-greeting";

export function greetNext(): void {
  try {
    localStorage.setItem(KEY, "due");
  } catch {
    // Storage is disabled: nobody is greeted.
  }
}

export function isGreetingDue(): boolean {
  try {
    return localStorage.getItem(KEY) !== null;
  } catch {
    return false;
  }
}

export function endGreeting(): void {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // It was not stored in the first place.
  }
}
