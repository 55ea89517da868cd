import { describe, expect, test } from "vitest";
import { engine, expressionOf, isDirectName } from "./template-language.ts";
import { scanTemplate } from "./template-scan.ts";

const render = (template: string, names: Record<string, unknown> = {}) =>
  String(engine.parseAndRenderSync(template, names));

describe("each filter accepts its declared number of arguments, also in a branch that no run enters", () => {
  test.each([
    ["default", 1, 1],
    ["upcase", 0, 0],
    ["downcase", 0, 0],
    ["capitalize", 0, 0],
    ["strip", 0, 1],
    ["lstrip", 0, 1],
    ["rstrip", 0, 1],
    ["strip_newlines", 0, 0],
    ["append", 1, 1],
    ["prepend", 1, 1],
    ["replace", 2, 2],
    ["remove", 1, 1],
    ["truncate", 0, 2],
    ["truncatewords", 0, 2],
    ["split", 1, 1],
    ["join", 0, 1],
    ["first", 0, 0],
    ["last", 0, 0],
    ["size", 0, 0],
    ["json", 0, 0],
    ["plus", 1, 1],
    ["minus", 1, 1],
    ["times", 1, 1],
    ["divided_by", 1, 2],
    ["modulo", 1, 1],
    ["round", 0, 1],
    ["number_of_words", 0, 1],
  ])("%s: %d to %d", (filter, min, max) => {
    const messages = (count: number) => {
      const call = count === 0 ? filter : `${filter}: ${Array.from({ length: count }, () => "1").join(", ")}`;
      return scanTemplate(`{% if a == 'x' %}{{ a | ${call} }}{% endif %}`).faults.map(({ message }) => message);
    };
    const expected = `${min === max ? min : `${min} to ${max}`} argument${max === 1 && min === 1 ? "" : "s"}`;
    for (const given of [0, 1, 2, 3]) {
      const isFit = given >= min && given <= max;
      const refusal = `The filter "${filter}" accepts ${expected}, got ${given}.`;
      expect(messages(given)).toEqual(isFit ? [] : [refusal]);
    }
  });
});

describe("split", () => {
  test.each([
    ["a,b,c", "a-b-c"],
    [",a,,b", "-a--b"],
    ["a,,", "a"],
    [",,", ""],
    ["", ""],
  ])("of %j keeps its parts, except for empty ones at the end", (text, parts) => {
    expect(render("{{ a | split: ',' | join: '-' }}", { a: text })).toBe(parts);
  });

  test("is limited to a thousand parts", () => {
    const count = (parts: number) => render("{{ a | split: ',' | size }}", { a: Array(parts).fill("x").join(",") });
    expect(count(1_000)).toBe("1000");
    expect(() => count(1_001)).toThrow("split limit exceeded");
  });

  test("counts toward the copy limit of the filters of a rendering", () => {
    const template = "{% assign x = a | split: 'b' %}";
    const names = { a: "a".repeat(99_000) };
    expect(render(template.repeat(10), names)).toBe("");
    expect(() => render(template.repeat(11), names)).toThrow("memory alloc limit exceeded");
  });

  test("splits what an output of the value prints", () => {
    expect(render("{{ 12345 | split: 3 | join: '-' }}")).toBe("12-45");
    expect(render("{{ true | split: 'u' | join: '-' }}")).toBe("tr-e");
    expect(render("{{ nil | split: 'n' | size }}")).toBe("0");
    expect(render("{% assign x = 'a,b,c' | split: ',' %}{{ x | split: 'b' | join: '-' }}")).toBe("a-c");
  });
});

test("first and last return the items of a list, the letters of a text, nil for nothing, and empty text for anything else", () => {
  const parts = (filters: string) => render(`{% assign part = ${filters} %}[{{ part }}]`);
  expect(parts("'x,y,z' | split: ',' | first")).toBe("[x]");
  expect(parts("'x,y,z' | split: ',' | last")).toBe("[z]");
  expect([parts("'xyz' | first"), parts("'xyz' | last")]).toEqual(["[x]", "[z]"]);
  expect([parts("'' | first"), parts("'' | split: ',' | last")]).toEqual(["[]", "[]"]);
  expect([parts("7 | first"), parts("7 | last")]).toEqual(["[]", "[]"]);
});

describe("a key", () => {
  test.each(["topic", "a-b", "chữ", "7up", "constructor", "Input"])("%s can be read by its name", (key) => {
    expect([isDirectName(key), expressionOf(key)]).toEqual([true, key]);
  });

  test.each(["", " a", "a b", "a.b", "7", "-1.5", "input", "true", "__proto__", 'say "hi"'])(
    "%j must be read as a member of input",
    (key) => {
      expect([isDirectName(key), expressionOf(key)]).toEqual([false, `input[${JSON.stringify(key)}]`]);
    },
  );
});

describe("the engine itself rejects what the scan missed", () => {
  test.each([
    ["a tag that is not allowed", "{% increment a %}", /tag "increment" not found/],
    ["a tag named like a member of every object", "{% constructor %}", /tag "constructor" not found/],
    ["a filter that is not allowed", "{{ a | date }}", /undefined filter: date/],
    ["an undefined name", "{{ b }}", /undefined variable: b/],
    ["a member that a value inherits from its prototype", "{{ o.toString }}", /undefined variable: o\.toString/],
  ])("%s", (_, template, message) => {
    expect(() => render(template, { a: "x", o: {} })).toThrow(message);
  });
});
