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
  /** The result for exactly this text; null while it has faults or is being checked. */
  readonly prompt: CheckedPrompt | null;
  /** The result for the last checked text, or null if it had faults. It stays while the next check runs. */
  readonly last: CheckedPrompt | null;
  /** Null if not known yet. */
  readonly testRuns: PromptFileCheck["testRuns"] | null;
  /** From the last text without faults, for content that must not vanish while someone types. */
  readonly config: PromptConfig | null;
  /** From the same text. */
  readonly tests: readonly PromptTestCase[];
  /** True if the faults are from an earlier text, mapped to lines of this one. */
  readonly isPending: boolean;
  /** Set if the validator could not be reached. */
  readonly failure: Fault | null;
}

/** Checks the text with the server's validator after a pause in typing. */
export function useCheck(source: string): Checked {
  const [requested, setRequested] = useState(source);
  useEffect(() => {
    const timer = setTimeout(() => setRequested(source), CHECK_MS);
    return () => clearTimeout(timer);
  }, [source]);
  const { data, error, isPlaceholderData } = useQuery({ ...checkQuery(requested), placeholderData: (old) => old });
  const latest = useRef<CheckedPrompt | null>(null);
  const isPending = requested !== source || data === undefined || isPlaceholderData;
  const [first] = data?.prompts ?? [];
  if (first !== undefined) latest.current = first;
  const checkedSource = useRef(requested);
  if (!isPlaceholderData && data !== undefined) checkedSource.current = requested;
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
