import { expect, test } from "vitest";
import { indentAfter } from "./indent.ts";

test.each([
  ["below a field that holds others", "---\ninputs:", 2],
  ["two levels down", "---\ninputs:\n  name:", 4],
  ["beside the line before", "---\ninputs:\n  name:\n    label: Name", 4],
  ["below the first field of an item", "---\nimages:\n  - label: Photo", 4],
  ["in the text of a prompt as its author likes", "---\npromptd: 1\n---\nThe rules:", null],
])("a new line stands %s", (_, before, expected) => {
  expect(indentAfter(before)).toBe(expected);
});
