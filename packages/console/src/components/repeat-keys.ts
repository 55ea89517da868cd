/** Idempotency keys of actions that a person may repeat because an answer was lost. */
import { randomKey } from "@promptd/client/manage";

export interface RepeatKeys {
  /** The same key as the last time when the action sends the same again; a new one otherwise. */
  readonly keyOf: (action: string, request: unknown) => string;
  /** The action has succeeded: doing it again is meant. */
  readonly forget: (action: string) => void;
}

export function createRepeatKeys(): RepeatKeys {
  const sent = new Map<string, { readonly request: string; readonly key: string }>();
  return {
    keyOf: (action, request) => {
      const text = JSON.stringify(request);
      const last = sent.get(action);
      const entry = last?.request === text ? last : { request: text, key: randomKey() };
      sent.set(action, entry);
      return entry.key;
    },
    forget: (action) => void sent.delete(action),
  };
}
