import { useEffect, useRef, type KeyboardEvent as FormKeyEvent, type RefObject } from "react";

const isShortcut = ({ key, metaKey, ctrlKey }: Pick<KeyboardEvent, "key" | "metaKey" | "ctrlKey">) =>
  key === "Enter" && (metaKey || ctrlKey);

/** Handles keys in a form that creates runs. ⌘↵ submits it from any field. A held key submits only once. */
export function runKeys(event: FormKeyEvent<HTMLFormElement>): void {
  if (event.key !== "Enter") return;
  if (event.repeat && (isShortcut(event) || !(event.target instanceof HTMLTextAreaElement))) event.preventDefault();
  else if (isShortcut(event)) {
    event.preventDefault();
    event.currentTarget.requestSubmit();
  }
}

/**
 * Makes ⌘↵ work outside the form too. Nothing has the focus when a page opens, or once the focused button is disabled.
 * Dialogs and menus handle their own keys, and on a link this shortcut opens a new tab.
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
