import { useEffect, useRef, type KeyboardEvent as FormKeyEvent, type RefObject } from "react";

const isShortcut = ({ key, metaKey, ctrlKey }: Pick<KeyboardEvent, "key" | "metaKey" | "ctrlKey">) =>
  key === "Enter" && (metaKey || ctrlKey);

/** The keys of a form that makes runs: ⌘↵ sends it from anywhere in it, and a key that is held down sends it once. */
export function runKeys(event: FormKeyEvent<HTMLFormElement>): void {
  if (event.key !== "Enter") return;
  if (event.repeat && (isShortcut(event) || !(event.target instanceof HTMLTextAreaElement))) event.preventDefault();
  else if (isShortcut(event)) {
    event.preventDefault();
    event.currentTarget.requestSubmit();
  }
}

/**
 * ⌘↵ from the rest of the page as well: nothing has the focus when a page opens, nor once the button that had it is
 * disabled. What lies over the page has keys of its own, and a link opens a tab by this one.
 */
export function useRunKey(): RefObject<HTMLFormElement | null> {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.repeat || !isShortcut(event)) return;
      if (event.target instanceof HTMLAnchorElement || document.querySelector(OVER) !== null) return;
      event.preventDefault();
      form.current?.requestSubmit();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return form;
}

const OVER = "[role=dialog], [role=menu]";
