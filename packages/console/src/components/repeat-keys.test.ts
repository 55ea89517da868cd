import { expect, test } from "vitest";
import { createRepeatKeys } from "./repeat-keys.ts";

test("an action keeps its key until it succeeds or sends different data", () => {
  const keys = createRepeatKeys();
  const first = keys.keyOf("draft", { revision: 1 });
  expect(keys.keyOf("draft", { revision: 1 })).toBe(first);
  expect(keys.keyOf("other", { revision: 1 })).not.toBe(first);
  const second = keys.keyOf("draft", { revision: 2 });
  expect(second).not.toBe(first);
  keys.forget("draft");
  expect(keys.keyOf("draft", { revision: 2 })).not.toBe(second);
});
