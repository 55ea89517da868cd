/** Idempotency keys for actions that a person may repeat because a response was lost. */
import { randomKey } from "@promptd/client/manage";

export interface RepeatKeys {
  /** Returns the previous key if the action sends the same data again, otherwise a new key. */
  readonly keyOf: (action: string, request: unknown) => string;
  /** Call when the action has succeeded: a repetition is then intended. */
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
