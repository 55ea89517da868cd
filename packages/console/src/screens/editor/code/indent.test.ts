import { expect, test } from "vitest";
import { indentAfter } from "./indent.ts";

test.each([
  ["nested below a field that has children", "---\ninputs:", 2],
  ["two levels down", "---\ninputs:\n  name:", 4],
  ["level with the previous line", "---\ninputs:\n  name:\n    label: Name", 4],
  ["aligned with the first field of an item", "---\nimages:\n  - label: Photo", 4],
  ["in the prompt body as the author likes", "---\npromptd: 1\n---\nThe rules:", null],
])("a new line is indented %s", (_, before, expected) => {
  expect(indentAfter(before)).toBe(expected);
});
