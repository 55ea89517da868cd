import { describe, expect, test } from "vitest";
import { faultsOf } from "../../../test/prompts/prompt-fixtures.ts";

/** Front matter with `promptd`, `title`, and `model` on lines 2 to 4 and more from line 5 on, then the body. */
function file(fields: readonly string[], body = "x", model = "sandbox/text"): string {
  return ["---", "promptd: 1", "title: T", `model: ${model}`, ...fields, "---", body, ""].join("\n");
}

/** As `file`, with the steps `draft` (text) and `paint` (image); `fields` start on line 7. */
function stepFile(fields: readonly string[], body?: string): string {
  const parts = body ?? "<!-- step: draft -->\nx\n<!-- step: paint -->\n{{ steps.draft }}";
  return file(["tags: [a]", "x-note: y", ...fields], parts, "sandbox/image");
}

/** The prompt is on line 4 and the lines after it, one member per line. */
function json(...prompts: readonly object[]): string {
  return JSON.stringify({ promptd: 1, prompts }, null, 1);
}

const linesOf = (text: string) => faultsOf(text).map((fault) => `${fault.line} ${fault.field} ${fault.code}`);
const draft = ["steps:", "  draft:", "    model: sandbox/text"];

describe("a fault of a prompt file names the line of its cause", () => {
  test.each<[name: string, text: string, location: string]>([
    ["an unknown model", file(["tags: [a]"], "x", "acme/none"), "4 model MODEL"],
    [
      "an unknown model of a step",
      stepFile(["steps:", "  draft:", "    model: acme/none", "  paint: {}"]),
      "9 steps.draft.model MODEL",
    ],
    [
      "a last step with another model",
      stepFile([...draft, "  paint:", "    count: 1", "    model: sandbox/text"]),
      "12 steps.paint.model MODEL",
    ],
    ["an unknown option", file(["options:", "  reasoningEffort: low", "  size: big"]), "7 options.size MODEL"],
    [
      "a value that the option does not have",
      file(["options:", "  reasoningEffort: ultra"]),
      "6 options.reasoningEffort MODEL",
    ],
    [
      "an unknown option of a step",
      stepFile([...draft, "    options:", "      size: big", "  paint: {}"]),
      "11 steps.draft.options.size MODEL",
    ],
    [
      "an image slot that does not exist",
      stepFile([
        "images:",
        "  - {}",
        "steps:",
        "  draft:",
        "    model: sandbox/text",
        "    images:",
        "      - 1",
        "      - 2",
        "  paint: {}",
      ]),
      "14 steps.draft.images MODEL",
    ],
    [
      "more images than the model accepts",
      file(["images:", ...Array.from({ length: 9 }, () => "  - {}")]),
      "14 images MODEL",
    ],
    [
      "an image that no step sends",
      stepFile(["images:", "  - {}", "  - label: Second", ...draft, "    images: []", "  paint: { images: [1] }"]),
      "9 images[2] MODEL",
    ],
    [
      "a sample that makes the text too long",
      file(["samples:", "  - inputs: {}", "  - inputs:", `      a: ${"y".repeat(20_000)}`], "{{ a }}".repeat(51)),
      "7 samples[2] RENDER",
    ],
    [
      "default values that make the text too long",
      file(["inputs:", `  a: { default: ${"y".repeat(20_000)} }`], `\n${"{{ a }}".repeat(51)}`),
      "9 template RENDER",
    ],
    ["a count with a text model", file(["tags: [a]", "count: 2"]), "6 count LIMITS"],
    ["a count in a text step", stepFile([...draft, "    count: 2", "  paint: {}"]), "10 steps.draft.count LIMITS"],
    ["too many output tokens", file(["tags: [a]", "maxOutputTokens: 5000000"]), "6 maxOutputTokens LIMITS"],
    [
      "output tokens for an image model, set at the top level for the last step",
      stepFile(["maxOutputTokens: 5", ...draft, "  paint: {}"]),
      "7 maxOutputTokens LIMITS",
    ],
    ["an empty body", file(["tags: [a]"], ""), "7 template TEMPLATE_SYNTAX"],
    [
      "an empty part of a step",
      stepFile([...draft, "  paint: {}"], "<!-- step: draft -->\n\n<!-- step: paint -->\nx"),
      "13 steps.draft.template TEMPLATE_SYNTAX",
    ],
    [
      "a step that is read before it runs",
      stepFile([...draft, "  paint: {}"], "<!-- step: draft -->\nx\n{{ steps.paint }}\n<!-- step: paint -->\nx"),
      "14 steps.draft.template STEP_ORDER",
    ],
    ["a broken template", file(["tags: [a]"], "x\n\n{{ a b }}"), "9 template TEMPLATE_SYNTAX"],
    ["a path into an input", file(["tags: [a]"], "x\n{{ a.b }}"), "8 template PATH_ACCESS"],
    ["an undeclared input", file(["inputs:", "  a: {}"], "{{ a }}\n{{ b }}"), "9 template INPUT_UNDECLARED"],
    ["an unused input", file(["inputs:", "  a: {}", "  b: {}"], "{{ a }}"), "7 inputs.b INPUT_UNUSED"],
    ["an assignment to an input", file(["inputs:", "  a: {}"], "{{ a }}\n{% assign a = 1 %}"), "9 template SHADOWED"],
    [
      "too many inputs read",
      file([], Array.from({ length: 65 }, (_, index) => `{{ k${index} }}`).join("\n")),
      "70 inputs LIMITS",
    ],
    [
      "broken instructions on one line",
      file(["tags: [a]", 'instructions: "{{ a b }}"']),
      "6 instructions TEMPLATE_SYNTAX",
    ],
    [
      "broken instructions in a block",
      file(["tags: [a]", "instructions: |", "", "  Be brief.", "  {{ a b }}"]),
      "9 instructions TEMPLATE_SYNTAX",
    ],
    [
      "broken instructions in a folded block, whose lines are not lines of the file",
      file(["tags: [a]", "instructions: >", "  Be brief.", "  {{ a b }}"]),
      "6 instructions TEMPLATE_SYNTAX",
    ],
    ["NUL in the body", file([], "x\ny\0"), "7 body FILE_SYNTAX"],
    [
      "stray text before the steps",
      stepFile([...draft, "  paint: {}"], "\nx\n<!-- step: draft -->\nx"),
      "13 body FILE_SYNTAX",
    ],
    [
      "a part that is not named under steps",
      stepFile(draft, "<!-- step: draft -->\nx\n<!-- step: b -->\nx"),
      "13 steps.b FIELD",
    ],
    [
      "a step without a part",
      stepFile([...draft, "  paint:", "    count: 1"], "<!-- step: draft -->\nx"),
      "10 steps.paint FIELD",
    ],
    ["too many steps", stepFile(["steps:", ..."abcdefghijk".split("").map((id) => `  ${id}: {}`)]), "7 steps LIMITS"],
    ["a step id with capitals", stepFile([...draft, "  Paint: {}"]), "10 steps.Paint FIELD"],
    [
      "a sample of an unknown input",
      file(["samples:", "  - inputs:", "      a: x", "      b: y"], "{{ a }}"),
      "8 samples[1].inputs.b FIELD",
    ],
    [
      "a sample with images",
      file(["samples:", "  - inputs: {}", "    images: ['https://example.org/a.png']"]),
      "7 samples[1].images FIELD",
    ],
    [
      "too many input keys",
      file(["inputs:", ...Array.from({ length: 65 }, (_, index) => `  k${index}: {}`)]),
      "5 inputs LIMITS",
    ],
    [
      "a duplicate option of an input",
      file(["inputs:", "  a:", "    options:", "      - x", "      - x"], "{{ a }}"),
      "9 inputs.a.options FIELD",
    ],
    ["a field without a value", file(["tags: [a]", "description:"]), "6 description FIELD"],
    ["a flow key without a value", file(["tags: [a]", "options: { quality }"]), "6 options.quality FIELD"],
    ["a duplicate key", file(["tags: [a]", "tags: [b]"]), "6 tags FILE_SYNTAX"],
    ["an alias", file(["tags: [a]", "inputs:", "  a: &x {}", "  b: *x"]), "8 front matter FILE_SYNTAX"],
    ["a tag", file(["tags: [a]", "description: !!binary aGk="]), "6 front matter FILE_SYNTAX"],
    ["a key that is not text", file(["tags: [a]", "x-map:", "  7: x"]), "7 front matter FILE_SYNTAX"],
    ["broken YAML", file(["tags: [a]", "inputs: ]"]), "6 front matter FILE_SYNTAX"],
    [
      "nesting",
      file(["tags: [a]", `x-deep: ${"[".repeat(30)}${"]".repeat(30)}`]),
      `6 x-deep${"[1]".repeat(19)} LIMITS`,
    ],
    ["a front matter that is a list", "---\n- a\n---\nx", "2 front matter FILE_SYNTAX"],
  ])("%s", (_name, text, location) => {
    expect(linesOf(text)).toContain(location);
  });

  test("two steps with the same unknown model are two faults with their own locations", () => {
    const text = stepFile(["steps:", "  draft:", "    model: acme/none", "  paint:", "    model: acme/none"]);
    expect(linesOf(text).filter((location) => location.endsWith(".model MODEL"))).toEqual([
      "9 steps.draft.model MODEL",
      "11 steps.paint.model MODEL",
      "11 steps.paint.model MODEL", // and it is not the prompt's model
    ]);
  });
});

describe("a fault of a JSON import names its path and its line", () => {
  const one = { title: "One", model: "sandbox/text", template: "Say {{ a }}." };
  test.each<[name: string, text: string, location: string]>([
    ["an unknown model", json(one, { ...one, model: "acme/none" }), "11 prompts[2].model MODEL"],
    ["an unknown option", json({ ...one, options: { size: "big" } }), "9 prompts[1].options.size MODEL"],
    [
      "an unknown model of a step in a list",
      json({
        title: "S",
        model: "sandbox/text",
        steps: [
          { id: "a", template: "x", model: "acme/none" },
          { id: "b", template: "x" },
        ],
      }),
      "11 prompts[1].steps.a.model MODEL",
    ],
    ["no template", json({ title: "T", model: "sandbox/text" }), "4 prompts[1].template TEMPLATE_SYNTAX"],
    ["a broken template", json({ ...one, template: "x\n{{ a b }}" }), "7 prompts[1].template TEMPLATE_SYNTAX"],
    ["a prompt that is not an object", '{"promptd":1,\n"prompts":[\n7]}', "3 prompts[1] FIELD"],
    [
      "a duplicate id",
      json(
        { ...one, id: "1fda4caa-0ede-5aa4-b0ad-a38961c84766" },
        { id: "1fda4caa-0ede-5aa4-b0ad-a38961c84766", ...one },
      ),
      "11 prompts[2].id FIELD",
    ],
    ["a duplicate slug", json({ ...one, slug: "a" }, { ...one, slug: "a" }), "14 prompts[2].slug FIELD"],
    [
      "a duplicate key",
      '{"promptd":1,"prompts":[\n{"title":"T","inputs":{"a":{},\n"a":{}}}]}',
      "3 prompts[1].inputs.a FILE_SYNTAX",
    ],
    ["a duplicate key at the top level", '{"promptd":1,\n"promptd":1,"prompts":[]}', "2 promptd FILE_SYNTAX"],
    [
      "nesting",
      `{"promptd":1,"prompts":[\n{"x-deep":${"[".repeat(30)}${"]".repeat(30)}}]}`,
      `2 prompts[1].x-deep${"[1]".repeat(17)} LIMITS`,
    ],
    ["broken JSON", '{"promptd": 1,\n "prompts": [}', "2 file FILE_SYNTAX"],
    ["truncated JSON", '{"promptd": 1,\n "prompts": [\n', "3 file FILE_SYNTAX"],
  ])("%s", (_name, text, location) => {
    expect(linesOf(text)).toContain(location);
  });
});
