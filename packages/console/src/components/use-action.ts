import { useEffect, useRef, useState } from "react";
import { faultOf, type Fault } from "../api.ts";

export interface Action {
  readonly isBusy: boolean;
  /** What went wrong the last time. */
  readonly fault: Fault | null;
  readonly clear: () => void;
  /** @returns whether it went well. */
  readonly run: (work: () => Promise<unknown>) => Promise<boolean>;
}

/** One action of a person: whether it is under way, and what went wrong. */
export function useAction(): Action {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<Fault | null>(null);
  const run = async (work: () => Promise<unknown>) => {
    setBusy(true);
    setFault(null);
    try {
      await work();
      return true;
    } catch (error) {
      setFault(faultOf(error));
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, fault, clear: () => setFault(null), run };
}

/** Whether the page is still there, for what an answer does that comes after its reader has left. */
export function useMounted(): () => boolean {
  const isMounted = useRef(true);
  useEffect(() => {
    isMounted.current = true;
    return () => {
      isMounted.current = false;
    };
  }, []);
  return () => isMounted.current;
}
