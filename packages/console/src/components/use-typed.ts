import { useRouter } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";

const TYPING_MS = 120;

/**
 * A search that the address holds: what is typed is shown at once and searched for when the fingers rest.
 * @returns the text of the field, and what changes it.
 */
export function useTyped(
  value: string,
  onChange: (value: string) => void,
): readonly [text: string, setText: (text: string) => void] {
  const [text, setText] = useState(value);
  /** What the address has or will have: it follows late, and not through every step. */
  const sent = useRef([value]);
  const latest = useRef(onChange);
  latest.current = onChange;
  const router = useRouter();
  useEffect(() => {
    const at = sent.current.indexOf(value);
    sent.current = at === -1 ? [value] : sent.current.slice(at);
    if (at === -1) setText(value); // the address has changed by itself: back, forward, a link
  }, [value]);
  useEffect(() => {
    const { pathname } = router.latestLocation;
    const timer = setTimeout(() => {
      if (router.latestLocation.pathname !== pathname) return; // a link was followed, and its page is on its way
      const wanted = text.trim();
      if (wanted === sent.current.at(-1)) return;
      sent.current.push(wanted);
      latest.current(wanted);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, router]);
  return [text, setText];
}
