import type { KeyboardEvent } from "react";

/** The keys of a form that makes runs: ⌘↵ sends it from anywhere in it, and a key that is held down sends it once. */
export function runKeys(event: KeyboardEvent<HTMLFormElement>): void {
  if (event.key !== "Enter") return;
  const isShortcut = event.metaKey || event.ctrlKey;
  if (event.repeat && (isShortcut || !(event.target instanceof HTMLTextAreaElement))) event.preventDefault();
  else if (isShortcut) {
    event.preventDefault();
    event.currentTarget.requestSubmit();
  }
}
