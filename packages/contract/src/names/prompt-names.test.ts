import { expect, test } from "vitest";
import { parsePromptName } from "./prompt-names.ts";

const ID = "019A1F87-3e4b-7d21-a4c8-5b7e11f20d3a";

test.each([
  ["tea-poem", { isId: false, slug: "tea-poem", label: undefined }],
  ["tea-poem@production", { isId: false, slug: "tea-poem", label: "production" }],
  [ID, { isId: true, slug: ID, label: undefined }],
  // The server rejects the following names: none may resolve to an unintended version.
  ["tea-poem@", { isId: false, slug: "tea-poem", label: "" }],
  ["tea-poem@production@2", { isId: false, slug: "tea-poem", label: "production@2" }],
  ["@production", { isId: false, slug: "", label: "production" }],
  [`${ID}@production`, { isId: false, slug: ID, label: "production" }],
  ["", { isId: false, slug: "", label: undefined }],
])("the name %j is read as %j", (name, parsed) => {
  expect(parsePromptName(name)).toEqual(parsed);
});
