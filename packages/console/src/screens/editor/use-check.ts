import type { PromptConfig } from "@promptd/contract";
import type { CheckedPrompt, PromptFileFault, PromptTestCase } from "@promptd/contract/manage";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { checkQuery, faultOf, type Fault } from "../../api.ts";

const CHECK_MS = 350;
const NONE: readonly PromptFileFault[] = [];
const NO_TESTS: readonly PromptTestCase[] = [];

export interface Checked {
  readonly faults: readonly PromptFileFault[];
  /** Of this very text; null while it has faults or is being checked. */
  readonly prompt: CheckedPrompt | null;
  /** Of the last text without a fault, for what must not vanish while somebody types. */
  readonly config: PromptConfig | null;
  /** Of the same text. */
  readonly tests: readonly PromptTestCase[];
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
  const { data, error, isPlaceholderData } = useQuery({ ...checkQuery(asked), placeholderData: (old) => old });
  const latest = useRef<CheckedPrompt | null>(null);
  const isPending = asked !== source || data === undefined || isPlaceholderData;
  const [first] = data?.prompts ?? [];
  if (first !== undefined) latest.current = first;
  return {
    faults: data?.faults ?? NONE,
    prompt: isPending || data.faults.length > 0 ? null : (first ?? null),
    config: latest.current?.config ?? null,
    tests: latest.current?.tests ?? NO_TESTS,
    isPending,
    failure: error === null ? null : faultOf(error),
  };
}
