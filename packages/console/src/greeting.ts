/** Whether somebody who has come by a welcome link is still to be greeted. This browser remembers it, where it may. */
const KEY = "promptd-greeting";

export function greetNext(): void {
  try {
    localStorage.setItem(KEY, "due");
  } catch {
    // Storage is switched off: nobody is greeted.
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
    // It was not stored either.
  }
}
