import { useEffect, useRef, useState } from "react";
import { faultOf, type Fault } from "../api.ts";

export interface Action {
  readonly isBusy: boolean;
  /** The last error. */
  readonly fault: Fault | null;
  readonly clear: () => void;
  /** @returns whether the work succeeded. */
  readonly run: (work: () => Promise<unknown>) => Promise<boolean>;
}

/** Tracks one action: whether it is running, and what went wrong. */
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

/** Tells whether the component is still mounted, for responses that arrive after the person has left. */
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
