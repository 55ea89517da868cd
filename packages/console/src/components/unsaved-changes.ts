/** Guards against leaving a page with unsaved text. */
import { useBlocker } from "@tanstack/react-router";
import { useEffect, useRef } from "react";

interface Leaving {
  readonly isUnsaved: () => boolean;
  /** @returns whether everything is saved. */
  readonly save: () => Promise<boolean>;
}

const guards = new Set<() => Promise<boolean>>();

/** For actions that end more than the page, such as signing out. Asks first, while the text can still be saved. */
export async function canLeave(): Promise<boolean> {
  for (const guard of guards) if (!(await guard())) return false;
  return true;
}

/** Saves when leaving for another page, and asks if saving fails. Closing the window always asks. */
export function useLeaving({ isUnsaved, save }: Leaving): void {
  const latest = useRef({ isUnsaved, save });
  latest.current = { isUnsaved, save };
  const guard = async () =>
    !latest.current.isUnsaved() ||
    (await latest.current.save()) ||
    // The native dialog, because back and forward navigation waits for it too.
    confirm("Your text could not be saved. Leave without saving?");
  useBlocker({
    enableBeforeUnload: isUnsaved,
    shouldBlockFn: async ({ current, next }) => current.pathname !== next.pathname && !(await guard()),
  });
  useEffect(() => {
    guards.add(guard);
    return () => {
      guards.delete(guard);
    };
  });
  useEffect(
    () => () => {
      if (latest.current.isUnsaved()) void latest.current.save();
    },
    [],
  );
}
