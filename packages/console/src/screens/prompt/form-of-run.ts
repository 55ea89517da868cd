import type { PromptConfig, PromptSamples } from "@promptd/contract";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { runQuery } from "../../api.ts";
import { emptyForm, type FormState } from "../../components/prompt/prompt-form.ts";

/** The form, filled once from the run in the address for "edit and run". Images are not stored. */
export function useFormOfRun(config: PromptConfig, runId: string | null): [FormState, (form: FormState) => void] {
  const [form, setForm] = useState<FormState>(() => emptyForm(config));
  const isFilled = useRef(runId === null);
  const { data: run } = useQuery({ ...runQuery(runId ?? ""), enabled: runId !== null && !isFilled.current });
  useEffect(() => {
    if (isFilled.current || run === undefined) return;
    isFilled.current = true;
    const texts = knownTexts(run.inputs.textInputs, config);
    setForm((old) => ({ ...old, texts, options: choicesOf(run.runOptions, config) }));
  }, [run, config]);
  const change = (next: FormState) => {
    isFilled.current = true;
    setForm(next);
  };
  return [form, change];
}

const knownTexts = (texts: Readonly<Record<string, string>>, { textInputs }: PromptConfig): Record<string, string> =>
  Object.fromEntries(Object.entries(texts).filter(([name]) => Object.hasOwn(textInputs, name)));

/** The sample's texts for the form; null if there are none. */
export function textsOfSample({ inputs }: PromptSamples, config: PromptConfig): Record<string, string> | null {
  const texts = knownTexts(inputs.textInputs, config);
  return Object.keys(texts).length === 0 ? null : texts;
}

/** The options chosen for the run, without server defaults and options that the prompt no longer offers. */
function choicesOf(options: Readonly<Record<string, string>>, { runOptions }: PromptConfig): Record<string, string> {
  const chosen = Object.entries(options).filter(([name, value]) => {
    const offered = runOptions[name];
    return offered !== undefined && offered.default !== value && offered.options.includes(value);
  });
  return Object.fromEntries(chosen);
}
