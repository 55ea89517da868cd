import { orderedInputs, type CreateRunBody, type PromptConfig } from "@promptd/contract";
import type { RunQuote } from "@promptd/contract/manage";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { manage } from "../../api.ts";

const TYPING_MS = 400;

/** What the form's run would cost. Until that is known, what such a run typically costs. */
export function useQuote(body: CreateRunBody, config: PromptConfig): RunQuote {
  const rested = useRested(body, TYPING_MS);
  const isUnchanged =
    Object.keys(rested.runOptions ?? {}).length === 0 && Object.keys(rested.inputs.textInputs ?? {}).length === 0;
  const isFree = config.estimatedCredits === 0 && config.creditsRequired === 0;
  const { data } = useQuery({
    queryKey: ["quote", rested.promptVersionId, rested.inputs.textInputs, rested.runOptions],
    queryFn: ({ signal }) => manage.send("quoteRun", { body: filled(rested, config), signal }),
    enabled: !isUnchanged && !isFree,
    placeholderData: keepPreviousData,
  });
  const usual = { estimate: config.estimatedCredits, hold: isFree ? null : config.creditsRequired };
  return isUnchanged ? usual : (data ?? usual);
}

/** Prices an incomplete form: a missing text counts as one character, a missing choice as its first option. */
function filled({ promptVersionId, inputs, runOptions }: CreateRunBody, config: PromptConfig): CreateRunBody {
  const missing = orderedInputs(config)
    .filter(([name, { required }]) => required && inputs.textInputs?.[name] === undefined)
    .map(([name, { options, type }]) => [name, options?.[0] ?? (type === "text" ? "x" : "1")] as const);
  const textInputs = { ...Object.fromEntries(missing), ...inputs.textInputs };
  return { promptVersionId, inputs: { textInputs }, ...(runOptions === undefined ? {} : { runOptions }) };
}

/** Returns the value once it has been stable for a while. */
function useRested<Value>(value: Value, ms: number): Value {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return rested;
}
