import type { PromptConfig } from "@promptd/contract";
import type { CheckedPrompt, PromptFileCheck, PromptFileFault, PromptTestCase } from "@promptd/contract/manage";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { checkQuery, faultOf, type Fault } from "../../api.ts";
import { moveFaults } from "./code/move-faults.ts";

const CHECK_MS = 350;
const NONE: readonly PromptFileFault[] = [];
const NO_TESTS: readonly PromptTestCase[] = [];

export interface Checked {
  readonly faults: readonly PromptFileFault[];
  /** Of this very text; null while it has faults or is being checked. */
  readonly prompt: CheckedPrompt | null;
  /** Of the last text that was checked; null where that had faults. It stands while the next one is checked. */
  readonly last: CheckedPrompt | null;
  /** Null: not known yet. */
  readonly testRuns: PromptFileCheck["testRuns"] | null;
  /** Of the last text without a fault, for what must not vanish while somebody types. */
  readonly config: PromptConfig | null;
  /** Of the same text. */
  readonly tests: readonly PromptTestCase[];
  /** True: the faults are those of an earlier text, at their lines in this one. */
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
  const checkedSource = useRef(asked);
  if (!isPlaceholderData && data !== undefined) checkedSource.current = asked;
  const faults = useMemo(
    () => moveFaults(data?.faults ?? NONE, checkedSource.current, source),
    [data, checkedSource.current, source],
  );
  const last = faults.length > 0 ? null : (first ?? null);
  return {
    faults,
    prompt: isPending ? null : last,
    last,
    testRuns: data?.testRuns ?? null,
    config: latest.current?.config ?? null,
    tests: latest.current?.tests ?? NO_TESTS,
    isPending,
    failure: error === null ? null : faultOf(error),
  };
}
