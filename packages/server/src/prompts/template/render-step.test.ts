import * as fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { anyCodePoint } from "../../../test/support/any-code-point.ts";
import { Problem } from "../../platform/problem.ts";
import { checkInputs } from "../inputs/check-inputs.ts";
import {
  catalogue,
  liveVersion,
  PENCIL_PORTRAIT,
  STORY_COVER,
  TEA_POEM,
  textPrompt,
} from "../../../test/prompts/prompt-fixtures.ts";
import { authorsText, renderStep } from "./render-step.ts";
import { ALLOWED_FILTERS, engine, isDirectName, RESERVED_NAMES } from "./template-language.ts";
import { keyProblem } from "../text-input-rules.ts";

afterEach(() => void vi.restoreAllMocks());

/** Renders a one-step prompt as a run would, after checking and filling the inputs. */
function run(file: string, textInputs: Record<string, string> = {}): string {
  const version = liveVersion(file);
  const { textInputs: filled } = checkInputs(version, { promptVersionId: "", inputs: { textInputs } }, catalogue);
  return renderStep(version, 0, filled, {}).prompt;
}

describe("rendering", () => {
  test("the documentation's examples render with their defaults, and choices with their texts", () => {
    const tea = liveVersion(TEA_POEM);
    const filled = { topic: "rain", "Child's Age": "7", tone: "bright" };
    expect(renderStep(tea, 0, filled, {})).toEqual({
      prompt: "Write a two-line poem about rain, quick and merry.",
      instructions: "Write for a child of 7. Never give advice.",
    });
    expect(run(PENCIL_PORTRAIT)).toBe("Redraw the photo as a pencil portrait. Background: white.");
    expect(run(PENCIL_PORTRAIT, { background: "" })).toBe("Redraw the photo as a pencil portrait.");
  });

  test("a step inserts the text of an earlier step, or nothing if there is none yet", () => {
    const version = liveVersion(STORY_COVER);
    const inputs = { hero: "Bo", "accessories/styling": "none" };
    const cover = "A book cover, no lettering, for this story: ";
    expect(renderStep(version, 1, inputs, { draft: "Once {{ hero }}." }).prompt).toBe(`${cover}Once {{ hero }}.`);
    expect(renderStep(version, 1, inputs, {}).prompt).toBe(cover);
  });

  test("a version from before templates had a common limit is rejected, and not rendered", () => {
    const version = liveVersion(textPrompt("{{ a }}"));
    const message = { role: "user" as const, template: "{{ a }}".repeat(3_000) };
    const messages = [message, message, message, message];
    const steps = version.definition.steps.map((step) => ({ ...step, messages }));
    const old = { definition: { ...version.definition, steps } };
    const rendered = vi.spyOn(engine, "renderSync");
    expect(() => renderStep(old, 0, { a: "x" }, {})).toThrow(/^This prompt version can no longer run: /);
    expect(rendered).not.toHaveBeenCalled();
  });

  test("numbers and booleans are compared as such, a date is trimmed, a list has items, and blank text is empty", () => {
    const inputs = "inputs: { n: { type: number }, b: { type: boolean }, d: { type: date }, l: { type: list } }";
    const body =
      "{% if n == 10 %}many{% endif %}[{{ n }}][{{ b }}]{% if b == true %}yes{% endif %}[{{ d }}]{{ l | size }}";
    const version = liveVersion(textPrompt(body, inputs));
    const render = (n: string, b: string, d: string, l: string) => renderStep(version, 0, { n, b, d, l }, {}).prompt;
    expect(render("10", " true ", " 2026-11-27 ", "a, b")).toBe("many[10][true]yes[2026-11-27]2");
    expect(render("9", "false", "2026-11-27", "")).toBe("[9][false][2026-11-27]0");
    expect(render(" ", " ", " ", " ")).toBe("[][][]0");
    expect(render("", "", "", Array.from({ length: 2_000 }, (_, i) => `i${i}`).join(", "))).toMatch(/\]100$/);
  });

  test("the author's text is a step's template, its instructions, and the texts of all choices", () => {
    const tea = liveVersion(TEA_POEM);
    const [step] = tea.definition.steps;
    const texts = tea.definition.inputs.flatMap(({ choices }) => (choices ?? []).map(({ text }) => text));
    expect(texts).not.toEqual([]);
    expect(authorsText(tea, 0)).toBe([step?.template, step?.instructions, ...texts].join("\n"));
    expect(() => authorsText(tea, 1)).toThrow("There is no step 1.");
  });

  test("a multiple select inserts the texts of its choices, joined", () => {
    const file = textPrompt(
      "With {{ extras }}.",
      "inputs: { extras: { options: { a: apples, b: pears }, multiple: {} } }",
    );
    expect(run(file, { extras: "b, a" })).toBe("With pears, apples.");
  });

  test("a choice may have a comma in its name if only one can be chosen, and an unknown choice inserts nothing", () => {
    const version = liveVersion(textPrompt("[{{ tone }}]", "inputs: { tone: { options: { 'calm, slow': lento } } }"));
    expect(renderStep(version, 0, { tone: "calm, slow" }, {}).prompt).toBe("[lento]");
    expect(renderStep(version, 0, { tone: "calm" }, {}).prompt).toBe("[]");
  });

  test("a template is parsed only once, at its first use", () => {
    const version = liveVersion(textPrompt("{{ a }}", "instructions: For {{ a }}."));
    expect(renderStep(version, 0, { a: "x" }, {})).toEqual({ prompt: "x", instructions: "For x." });
    const parse = vi.spyOn(engine, "parse");
    expect(renderStep(version, 0, { a: "y" }, {})).toEqual({ prompt: "y", instructions: "For y." });
    expect(parse).not.toHaveBeenCalled();
  });

  test("a step that the prompt does not have is a bug in the calling code", () => {
    expect(() => renderStep(liveVersion(TEA_POEM), 1, {}, {})).toThrow(new RangeError("There is no step 1."));
  });

  test("a name assigned in a skipped branch is empty text, not an error", () => {
    const file = textPrompt("{% if a == 'x' %}{% assign t = 'taken' %}{% endif %}[{{ t }}]");
    expect(run(file, { a: "y" })).toBe("[]");
    expect(run(file, { a: "x" })).toBe("[taken]");
  });

  test("empty text is true in Liquid and equal to blank", () => {
    const fields = "inputs: { a: { default: '', allowEmpty: true } }";
    expect(run(textPrompt("{% if a %}yes{% endif %}{% if a != blank %}given{% endif %}", fields))).toBe("yes");
  });

  test.each(["first", "last"])("the %s part of nothing is empty text, also when assigned to a name", (filter) => {
    const fields = "inputs: { a: { default: 'x, y', allowEmpty: true } }";
    const file = textPrompt(`{% assign part = a | split: ', ' | ${filter} %}[{{ part }}]`, fields);
    expect(run(file)).toBe(filter === "first" ? "[x]" : "[y]");
    expect(run(file, { a: "" })).toBe("[]");
    expect(run(file, { a: ", " })).toBe("[]");
    expect(run(textPrompt(`[{{ a | ${filter} }}]`, fields), { a: "" })).toBe("[]");
    expect(run(textPrompt(`[{{ a | ${filter} }}]`, fields), { a: "zz" })).toBe("[z]");
  });

  test("a broken character made by a filter does not reach the model", () => {
    expect(run(textPrompt("{{ a | split: '' | first }}"), { a: "😀" })).toBe("\uFFFD");
  });
});

describe("the rendering time limit", () => {
  test("is a 422 when a template exceeds it", () => {
    vi.spyOn(engine, "renderSync").mockImplementation(() => {
      throw new Error("template render limit exceeded");
    });
    expect(() => run(textPrompt("{{ a }}"), { a: "x" })).toThrow(
      "The prompt made from these inputs is too long; the limit is 1,000,000 characters.",
    );
  });

  test("is not confused with other errors, which are server errors", () => {
    vi.spyOn(engine, "renderSync").mockImplementation(() => {
      throw new Error("a fault");
    });
    expect(() => run(textPrompt("{{ a }}"), { a: "x" })).toThrow(new Error("a fault"));
  });
});

describe("hostile values", () => {
  test.each([
    "{{ evil }}",
    "{% include 'x' %}",
    "{{ input | json }}",
    "$& $1 $` $'",
    "__proto__",
    "\\",
    '"]}',
    "<!-- step: x -->",
  ])("%s stays the text it is", (value) => {
    expect(run(textPrompt("[{{ a }}|{{ input['b c'] }}]"), { a: value, "b c": value })).toBe(`[${value}|${value}]`);
  });

  test("constructor, toString, and hasOwnProperty are ordinary keys, and insert nothing when not declared", () => {
    const file = textPrompt("{{ constructor }}{{ toString }}{{ input['hasOwnProperty'] }}");
    expect(run(file, { constructor: "a", toString: "b", hasOwnProperty: "c" })).toBe("abc");
    const { issues } = checkInputs(liveVersion(file), { promptVersionId: "", inputs: {} }, catalogue);
    expect(issues.map((issue) => issue.path.at(-1))).toEqual(["constructor", "toString", "hasOwnProperty"]);
  });
});

describe("size", () => {
  const tooLong = (file: string, value: string) => {
    try {
      run(file, { a: value });
      return null;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return error;
    }
  };

  test("a text of exactly 1,000,000 units is rendered; one more is a 422 with size and limit", () => {
    const file = textPrompt("{{ a }}".repeat(10));
    expect(run(file, { a: "x".repeat(100_000) })).toHaveLength(1_000_000);
    const problem = tooLong(textPrompt(`${"{{ a }}".repeat(10)}!`), "x".repeat(100_000));
    expect(problem?.code).toBe("VALIDATION_ERROR");
    const message =
      "The prompt made from these inputs is 1,000,001 characters long; the limit is 1,000,000 characters.";
    expect(problem?.message).toBe(message);
    expect(problem?.data).toEqual({
      issues: [{ path: ["body", "inputs", "textInputs"], code: "too_long", message }],
    });
  });

  test.each([
    ["{{ a }} printed 9,000 times", "{{ a }}".repeat(9_000)],
    ["a text doubled 12 times", `{% assign t = a %}${"{% assign t = t | append: t %}".repeat(12)}{{ t }}`],
    ["every letter replaced by the text", "{{ a | replace: 'x', a }}"],
    ["letters joined by the text", "{{ a | split: '' | join: a }}"],
    ["a text split into more than 1,000 parts", "{{ a | split: '' | size }}"],
    ["a text quoted again and again", `{{ a ${"| json ".repeat(12)}}}`],
  ])("%s is rejected before it is built", (_name, body) => {
    const before = process.memoryUsage().rss;
    expect(tooLong(textPrompt(body, "inputs: { a: { default: b } }"), "x".repeat(100_000))?.code).toBe(
      "VALIDATION_ERROR",
    );
    expect(process.memoryUsage().rss - before).toBeLessThan(200_000_000);
  });
});

const key = fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 }).filter((text) => keyProblem(text) === null);
const value = fc.oneof(
  fc.string({ unit: anyCodePoint, maxLength: 200 }),
  fc.constantFrom("{{ x }}", "{% raw %}", "", " ", "}}", "%}", "\\", "9".repeat(400), "-0", "1e400", "NaN"),
);

/** Length of the rendered text; 0 if it was rejected as too long, which is the only allowed failure. */
function outcome(file: string, textInputs: Record<string, string>): number {
  try {
    return run(file, textInputs).length;
  } catch (error) {
    if (error instanceof Problem && error.code === "VALIDATION_ERROR") return 0;
    throw error;
  }
}

describe("properties", () => {
  test("any valid key can be read, and its value appears verbatim, once", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(key, { minLength: 1, maxLength: 5 }),
        fc.array(value, { minLength: 5, maxLength: 5 }),
        (keys, values) => {
          const body = keys.map((name) => `<{{ input[${JSON.stringify(name)}] }}>`).join("");
          const fields = `inputs: {${keys.map((name) => `${JSON.stringify(name)}: {allowEmpty: true}`).join(", ")}}`;
          const inputs = Object.fromEntries(keys.map((name, index) => [name, values[index] ?? ""]));
          const expected = keys.map((_, index) => `<${(values[index] ?? "").toWellFormed()}>`).join("");
          expect(run(textPrompt(body, fields), inputs)).toBe(expected);
        },
      ),
      { numRuns: 200 },
    );
  });

  test("a key that counts as a direct name is read by that name", () => {
    const word = fc.oneof(key, fc.stringMatching(/^[a-zà-ỹ0-9_-]{1,12}$/), fc.constantFrom(...RESERVED_NAMES));
    fc.assert(
      fc.property(word, (name) => {
        fc.pre(keyProblem(name) === null && isDirectName(name));
        const fields = `inputs: { ${JSON.stringify(name)}: {} }`;
        expect(run(textPrompt(`<{{ ${name} }}>`, fields), { [name]: "v" })).toBe("<v>");
      }),
      { numRuns: 300 },
    );
  });

  test("an accepted template never throws anything except for the size limit, whatever the values", () => {
    const filter = fc.constantFrom(...ALLOWED_FILTERS.keys()).chain((name) => {
      const [min, max] = ALLOWED_FILTERS.get(name) ?? [0, 0];
      const arg = fc.constantFrom("a", "b", "input['c d']", "t", "'x'", "''", "3", "-1", "0.5", "nil", "blank", "true");
      return fc
        .array(arg, { minLength: min, maxLength: max })
        .map((args) => `| ${name}${args.length > 0 ? ": " : ""}${args.join(", ")}`);
    });
    const expression = fc
      .tuple(
        fc.constantFrom("a", "b", "input['c d']", "t", "'y'", "7", "nil", "empty"),
        fc.array(filter, { maxLength: 4 }),
      )
      // A bare number is rejected where it is printed.
      .map(([head, filters]) => (head === "7" && filters.length === 0 ? "'7'" : [head, ...filters].join(" ")));
    const operator = fc.constantFrom("==", "!=", "<", ">=", "contains", "and", "or");
    const piece = fc.oneof(
      expression.map((text) => `{{ ${text} }}`),
      expression.map((text) => `{% assign t = ${text} %}`),
      fc
        .tuple(fc.constantFrom("a", "t", "nil"), operator, fc.constantFrom("b", "blank", "3"), expression)
        .map(
          ([left, op, right, text]) =>
            `{% if ${left} ${op} ${right} %}{{ ${text} }}{% else %}{% assign t = ${text} %}{% endif %}`,
        ),
      expression.map((text) => `{% case ${text} %}{% when a, b %}x{% else %}{{ ${text} }}{% endcase %}`),
    );
    const fields = "inputs: { a: {allowEmpty: true}, b: {allowEmpty: true}, c d: {allowEmpty: true} }";
    const tail = "{% assign t = '' %}{{ a }}{{ b }}{{ input['c d'] }}";
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), fc.tuple(value, value, value), (pieces, [a, b, c]) => {
        const file = textPrompt(`{% assign t = '' %}${pieces.join("")}${tail}`, fields);
        expect(outcome(file, { a, b, "c d": c })).toBeLessThanOrEqual(1_000_000);
      }),
      { numRuns: 500 },
    );
  });
});
