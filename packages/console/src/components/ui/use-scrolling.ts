import { useCallback, useState, type RefCallback } from "react";

interface Scrolling {
  readonly ref: RefCallback<HTMLElement>;
  readonly tabIndex?: 0;
  readonly role?: "group";
  readonly "aria-label"?: string;
}

/** For a scrolling frame. Keys scroll the focused element, so a frame becomes focusable when its content overflows. */
export function useScrolling(label: string): Scrolling {
  const [isCut, setCut] = useState(false);
  const ref = useCallback((frame: HTMLElement | null) => {
    if (frame === null) return undefined;
    const measure = () => setCut(frame.scrollWidth > frame.clientWidth || frame.scrollHeight > frame.clientHeight);
    const sizes = new ResizeObserver(measure);
    for (const element of [frame, ...frame.children]) sizes.observe(element);
    return () => sizes.disconnect();
  }, []);
  return isCut ? { ref, tabIndex: 0, role: "group", "aria-label": label } : { ref };
}
