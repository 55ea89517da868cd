/** Idempotency keys of acts that a person may repeat because an answer was lost. */
import { randomKey } from "@promptd/client/manage";

export interface RepeatKeys {
  /** The same key as the last time when the act sends the same again; a new one otherwise. */
  readonly keyOf: (act: string, request: unknown) => string;
  /** The act has succeeded: doing it again is meant. */
  readonly forget: (act: string) => void;
}

export function createRepeatKeys(): RepeatKeys {
  const sent = new Map<string, { readonly request: string; readonly key: string }>();
  return {
    keyOf: (act, request) => {
      const text = JSON.stringify(request);
      const last = sent.get(act);
      const entry = last?.request === text ? last : { request: text, key: randomKey() };
      sent.set(act, entry);
      return entry.key;
    },
    forget: (act) => void sent.delete(act),
  };
}
