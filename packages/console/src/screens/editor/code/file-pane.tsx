import { useEffect, useRef, type ReactNode } from "react";

/** Where the pane sticks when the page scrolls. */
const STUCK_TOP = 24;

/**
 * The file and, below it, its faults. However long the file is, both end above the publish bar, whether or not the page
 * is scrolled.
 */
export function FilePane({ children }: { readonly children: ReactNode }) {
  const pane = useRef<HTMLElement>(null);
  const fit = () => {
    const top = Math.max(STUCK_TOP, pane.current?.getBoundingClientRect().top ?? 0);
    pane.current?.style.setProperty("--top", `${top}px`);
  };
  useEffect(fit); // notes above the pane move it
  useEffect(() => {
    addEventListener("scroll", fit, { passive: true });
    addEventListener("resize", fit);
    return () => {
      removeEventListener("scroll", fit);
      removeEventListener("resize", fit);
    };
  }, []);
  return (
    <section
      ref={pane}
      aria-label="Prompt file"
      className="flex max-h-[max(360px,calc(100dvh-var(--top,128px)-94px))] max-sm:max-h-[max(360px,calc(100dvh-300px))] min-w-0 flex-col overflow-clip rounded-3 border border-line bg-panel lg:sticky lg:top-6"
    >
      {children}
    </section>
  );
}
