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

/** What a draft is compared with: the draft with another model, or a published version. */
export type Other = { readonly model: string } | { readonly promptVersionId: string };

/** What became of a test of the file. */
export type RanTest = { readonly runId: string } | { readonly problem: string };

/** What an author has filled in and tried. */
export interface Trial {
  readonly form: FormState;
  readonly setForm: (form: FormState) => void;
  /** What runs beside the draft; null: nothing. */
  readonly other: Other | null;
  readonly setOther: (other: Other | null) => void;
  /** By the name of the test. */
  readonly ran: Readonly<Record<string, RanTest>>;
  readonly setRan: Dispatch<SetStateAction<Readonly<Record<string, RanTest>>>>;
  readonly running: Action;
  readonly runningAll: Action;
  readonly keys: RepeatKeys;
  /** False: the author has left the editor. */
  readonly isOpen: () => boolean;
}

/** The editor holds it: a look at another tab takes away what stands in this one. */
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

/** The form as the draft now wants it: slots come and go while the file is written; what was filled in stays. */
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

/** Makes a run of the draft as it is saved. The same `key` never makes two. @returns its id. */
export async function createTestRun(promptId: string, body: TestRunBody, key: string): Promise<string> {
  const headers = { prefer: "respond-async, stream", "idempotency-key": key };
  const { data } = await manage.call("createTestRun", { params: { promptId }, query: {}, body, headers });
  return data.runId;
}
