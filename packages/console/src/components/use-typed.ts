import { useRouter } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";

const TYPING_MS = 120;

/**
 * Search text held in the address. Typing shows at once; the search starts after a pause.
 * @returns the field's text and its setter.
 */
export function useTyped(
  value: string,
  onChange: (value: string) => void,
): readonly [text: string, setText: (text: string) => void] {
  const [text, setText] = useState(value);
  /** The text that the address has or will have. The address lags and skips intermediate steps. */
  const sent = useRef([value]);
  const latest = useRef(onChange);
  latest.current = onChange;
  const router = useRouter();
  useEffect(() => {
    const at = sent.current.indexOf(value);
    sent.current = at === -1 ? [value] : sent.current.slice(at);
    if (at === -1) setText(value); // the address changed without typing: back, forward, or a link
  }, [value]);
  useEffect(() => {
    const { pathname } = router.latestLocation;
    const timer = setTimeout(() => {
      if (router.latestLocation.pathname !== pathname) return; // a link was followed, and its page is loading
      const wanted = text.trim();
      if (wanted === sent.current.at(-1)) return;
      sent.current.push(wanted);
      latest.current(wanted);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, router]);
  return [text, setText];
}
