import type { PromptConfig } from "@promptd/contract";
import type { CheckedPrompt, PromptFileFault } from "@promptd/contract/manage";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { checkQuery, faultOf, type Fault } from "../../api.ts";

const CHECK_MS = 350;
const NONE: readonly PromptFileFault[] = [];

export interface Checked {
  readonly faults: readonly PromptFileFault[];
  /** Of this very text; null while it has faults or is being checked. */
  readonly prompt: CheckedPrompt | null;
  /** Of the last text without a fault, for what must not vanish while somebody types. */
  readonly config: PromptConfig | null;
  /** True: the faults are those of an earlier text. */
  readonly isPending: boolean;
  /** The validator itself could not be asked. */
  readonly failure: Fault | null;
}

/** The server's own validator, asked after a pause in typing. */
export function useCheck(source: string): Checked {
  const [asked, setAsked] = useState(source);
  useEffect(() => {
    const timer = setTimeout(() => setAsked(source), CHECK_MS);
    return () => clearTimeout(timer);
  }, [source]);
  const { data, error } = useQuery({ ...checkQuery(asked), placeholderData: (old) => old });
  const config = useRef<PromptConfig | null>(null);
  const isPending = asked !== source || data === undefined;
  const [first] = data?.prompts ?? [];
  if (first !== undefined) config.current = first.config;
  return {
    faults: data?.faults ?? NONE,
    prompt: isPending || data.faults.length > 0 ? null : (first ?? null),
    config: config.current,
    isPending,
    failure: error === null ? null : faultOf(error),
  };
}
