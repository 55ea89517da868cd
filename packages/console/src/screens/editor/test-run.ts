import type { PromptConfig } from "@promptd/contract";
import type { OwnPrompt, TestRunBody } from "@promptd/contract/manage";
import { useState, type Dispatch, type SetStateAction } from "react";
import { manage } from "../../api.ts";
import { emptyForm, type FormState } from "../../components/prompt/prompt-form.ts";
import { createRepeatKeys, type RepeatKeys } from "../../components/repeat-keys.ts";
import { useAction, useMounted, type Action } from "../../components/use-action.ts";
import type { Checked } from "./use-check.ts";
import type { DraftEditing } from "./use-draft.ts";

export interface DraftTabProps {
  readonly prompt: OwnPrompt;
  readonly draft: DraftEditing;
  readonly checked: Checked;
}

/** What a draft is compared with: itself on another model, or a published version. */
export type Other = { readonly model: string } | { readonly promptVersionId: string };

/** The outcome of one of the file's tests. */
export type RanTest = { readonly runId: string } | { readonly problem: string };

/** What the author has entered and run. */
export interface Trial {
  readonly form: FormState;
  readonly setForm: (form: FormState) => void;
  /** What the draft is compared with; null if nothing. */
  readonly other: Other | null;
  readonly setOther: (other: Other | null) => void;
  /** Keyed by test name. */
  readonly ran: Readonly<Record<string, RanTest>>;
  readonly setRan: Dispatch<SetStateAction<Readonly<Record<string, RanTest>>>>;
  readonly running: Action;
  readonly runningAll: Action;
  readonly keys: RepeatKeys;
  /** False once the author has left the editor. */
  readonly isOpen: () => boolean;
}

/** The editor holds this state, because switching tabs unmounts the tab. */
export function useTrial(): Trial {
  const [form, setForm] = useState<FormState>({ texts: {}, images: [], options: {} });
  const [other, setOther] = useState<Other | null>(null);
  const [ran, setRan] = useState<Readonly<Record<string, RanTest>>>({});
  const [running, runningAll] = [useAction(), useAction()];
  const [keys] = useState(createRepeatKeys);
  const isOpen = useMounted();
  return {
    form,
    setForm,
    other,
    setOther,
    ran,
    setRan,
    running,
    runningAll,
    keys,
    isOpen,
  };
}

/** Fits the form to the current draft. Image slots come and go with the file; entered values stay. */
export function fitForm(form: FormState, config: PromptConfig): FormState {
  const { images } = emptyForm(config);
  const options = Object.entries(form.options).filter(([name, value]) =>
    config.runOptions[name]?.options.includes(value),
  );
  return {
    texts: form.texts,
    images: images.map((_, index) => form.images[index] ?? null),
    options: Object.fromEntries(options),
  };
}

/** Runs the saved draft. The same `key` never creates two runs. @returns the run's id. */
export async function createTestRun(promptId: string, body: TestRunBody, key: string): Promise<string> {
  const headers = { prefer: "respond-async, stream", "idempotency-key": key };
  const { data } = await manage.call("createTestRun", { params: { promptId }, body, headers });
  return data.runId;
}
