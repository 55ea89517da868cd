import { describe, expect, test } from "vitest";
import { catalogue, faultsOf, parseOne, textPrompt } from "../../../test/prompts/prompt-fixtures.ts";
import { PromptFileError } from "../prompt-fault.ts";
import { parsePromptFile } from "../checks/parse-prompt-file.ts";
import { runAtOnce } from "../../platform/time-slice.ts";
import { findForeignSyntax } from "./foreign-syntax.ts";

const found = (text: string, declared: readonly string[] | null = null) =>
  runAtOnce(findForeignSyntax(text, declared === null ? null : new Set(declared))).map(
    ({ text: piece, isFault, message }) => ({
      piece,
      isFault,
      message,
    }),
  );

describe("placeholders of other languages", () => {
  test.each([
    ["a section", "{{#tone}}x", "{{#tone}}", "{% if tone != blank %}…{% endif %}"],
    [
      "a section for a key with spaces",
      "{{# Child's Age }}",
      "{{# Child's Age }}",
      `{% if input["Child's Age"] != blank`,
    ],
    ["Handlebars' if", "{{#if tone}}", "{{#if tone}}", "{% if tone != blank %}"],
    ["Handlebars' unless", "{{#unless tone}}", "{{#unless tone}}", "{% if tone == blank %}"],
    ["Handlebars' each", "{{#each things}}", "{{#each things}}", "{% for item in things %}{{ item }}{% endfor %}"],
    ["else", "{{else}}", "{{else}}", "{% else %}"],
    ["an inverted section", "{{^tone}}", "{{^tone}}", "{% if tone == blank %}"],
    ["the end of a section", "{{/tone}}", "{{/tone}}", "{% endif %}"],
    ["the end of a loop", "{{/each}}", "{{/each}}", "{% endfor %}"],
    ["a partial", "{{> footer }}", "{{> footer }}", "Paste the partial's text here"],
    ["a comment", "{{! later }}", "{{! later }}", "{% comment %}"],
    ["an unescaped value", "{{{topic}}}", "{{{topic}}}", "{{ topic }}"],
    ["an unescaped value with &", "{{& topic}}", "{{& topic}}", "{{ topic }}"],
    ["other delimiters", "{{=<% %>=}}", "{{=<% %>=}}", "Custom delimiters are not supported"],
    ["a loop variable", "{{@index}}", "{{@index}}", "forloop.index"],
  ])("%s is a fault that says how to write it in Liquid", (_name, text, piece, spelling) => {
    expect(found(`a ${text} b`)).toEqual([{ piece, isFault: true, message: expect.stringContaining(spelling) }]);
  });

  test.each([
    ["one brace", "{topic}", "{{ topic }}"],
    ["a dollar", "${topic}", "{{ topic }}"],
    ["a dollar with a default", "${topic:rain}", "{{ topic }}"],
    ["two square brackets", "[[topic]]", "{{ topic }}"],
    ["two angle brackets", "<<topic>>", "{{ topic }}"],
  ])(
    "%s is a warning that says how to write it in Liquid, and a fault when an input has that name",
    (_name, text, spelling) => {
      const message = expect.stringContaining(spelling);
      expect(found(`a ${text} b`)).toEqual([{ piece: text, isFault: false, message }]);
      expect(found(`a ${text} b`, ["other"])).toEqual([{ piece: text, isFault: false, message }]);
      expect(found(`a ${text} b`, ["topic"])).toEqual([{ piece: text, isFault: true, message }]);
    },
  );

  test.each([
    "{topic!r}",
    "{topic!s:>10}",
    "{topic:>10}",
    "{topic: >10}",
    "{topic:,.2f}",
    "{topic:%d %B %Y}",
    "{topic:yyyy-MM-dd}",
    "{topic:N2}",
    "{topic[0]}",
    "{topic.title()}",
    "{topic=}",
    "%(topic)s",
    "%(topic)-10.2f",
  ])("%s, a Python format, is a warning, and a fault when an input has that name", (text) => {
    const message = expect.stringContaining("{{ topic }}");
    expect(found(`a ${text} b`)).toEqual([{ piece: text, isFault: false, message }]);
    expect(found(`a ${text} b`, ["topic"])).toEqual([{ piece: text, isFault: true, message }]);
  });

  test.each(["{0}", "{1}", "{0:>10}", "{0.name}", "{0[key]}", "{:>10}", "{!r}", "{:.2f}"])(
    "%s, a position, is a warning that says how to write an input",
    (text) => {
      const message = expect.stringContaining("To insert an input, write {{ name }}.");
      expect(found(`a "${text}" b`, ["topic"])).toEqual([{ piece: text, isFault: false, message }]);
    },
  );

  test("a position that is also the name of an input is a fault", () => {
    const message = expect.stringContaining('{{ input["0"] }}');
    expect(found("a {0} b", ["0"])).toEqual([{ piece: "{0}", isFault: true, message }]);
  });

  test.each([
    "{{ topic.upper() }}",
    "{{ topic.replace('a', 'b') }}",
    "{{ now() }}",
    "{{ topic ? 'a' : 'b' }}",
    "{{ topic + ' tea' }}",
    "{{ topic || 'tea' }}",
    "{{ topic === 'tea' }}",
  ])("%s, an expression, is a fault, not the name of an input, unless an input has exactly that name", (text) => {
    expect(found(`a ${text} b`)).toEqual([
      { piece: text, isFault: true, message: expect.stringContaining("| upcase") },
    ]);
    expect(found(`a ${text} b`, [text.slice(3, -3)])).toEqual([]);
  });

  test.each(["{{topic!r}}", "{{ topic!s:>10 }}", "{{topic:>10}}", "{{ topic:.2f }}", "{{topic:%d %B}}"])(
    "%s, a Python format in double braces, is a fault, not the name of an input, unless an input has exactly that name",
    (text) => {
      const message = expect.stringContaining("Write {{ topic }}.");
      expect(found(`a ${text} b`)).toEqual([{ piece: text, isFault: true, message }]);
      expect(found(`a ${text} b`, [text.slice(2, -2).trim()])).toEqual([]);
    },
  );

  test.each(["{{1}}", "{{ 12 }}"])("%s, which Liquid would print as a number, is a fault", (text) => {
    const key = text.slice(2, -2).trim();
    const message = expect.stringContaining(`{{ input["${key}"] }}`);
    for (const declared of [null, [key]])
      expect(found(`a ${text} b`, declared)).toEqual([{ piece: text, isFault: true, message }]);
  });

  test.each([
    "{{Size:L}}",
    "{{Name:}}",
    "{{time:12}}",
    "{{Name(s)}}",
    "{{What is it?}}",
    "{{Size (cm)}}",
    "{{A + B}}",
    "{{Cats & dogs}}",
    "{{Is it a = b?}}",
  ])("%s is a valid name for an input", (text) => expect(found(text)).toEqual([]));

  test("braces from an input method get a warning", () => {
    const message = expect.stringContaining("{{ 主题 }}") as string;
    expect(found("关于｛｛主题｝｝")).toEqual([{ piece: "｛｛主题｝｝", isFault: false, message }]);
  });

  test("a Jinja comment and an ERB tag are warnings", () => {
    expect(found("{# later #} <%= topic %>").map(({ isFault }) => isFault)).toEqual([false, false]);
  });

  test.each([
    ["Liquid", "{{ topic }} {% if topic %}{topic: no}{% endif %} {%- assign a = '{x}' -%}"],
    ["raw and comment blocks", "{% raw %}{topic} ${x} {{#if}}{% endraw %}{% comment %}{{>x}} [[y]]{% endcomment %}"],
    ["an unclosed raw block", "{% raw %}{topic}"],
    ["LaTeX and indices", "\\frac{a}{b} x_{i} y^{n}"],
    ["JSON and code", 'Answer with {"name": "x"} or {} and f(){ return 1; } a << b >> 2;'],
    ["repetition counts of regular expressions", "[0-9]{2} (ab){3} \\d{4} .{5} x{1,3} a?{2}"],
    ["members of code and of style sheets", "{a: b} {topic: string} {color:red} {a:1,b:2} {x: 1, y: 2} 50% (x)s {}"],
    ["one square bracket", "[topic] and a[0][1]"],
  ])("%s is left alone", (_name, text) => {
    expect(found(text, ["topic", "a", "x"])).toEqual([]);
  });

  test("a long text of openings is read quickly", () => {
    for (const piece of ["{%", "{{", "{{#", "{", "${", "[[", "<<", "<%", "{#"])
      expect(() => found(piece.repeat(50_000 / piece.length))).not.toThrow();
  });

  test("an opening followed by many blanks is read quickly", () => {
    for (const piece of ["{%", "{{", "{{{", "{{#", "{{else", "{", "{ a", "${", "[[", "<<", "<%", "{#"])
      expect(found(`${piece}${" ".repeat(50_000)}`)).toEqual([]);
  });
});

describe("publishing", () => {
  test("rejects a section, with its line, column, and text, instead of turning it into an input", () => {
    const text = textPrompt("One.\nIf {{#if tone}}kind{{/if}}.");
    const [first, second] = faultsOf(text);
    expect(first).toMatchObject({ line: 7, column: 4, excerpt: "{{#if tone}}", code: "TEMPLATE_SYNTAX" });
    expect(second).toMatchObject({ line: 7, column: 20, excerpt: "{{/if}}" });
    expect(faultsOf(text)).toHaveLength(2);
    expect(messageOf(text)).toContain("line 7, column 4, template: ");
    expect(messageOf(text)).toContain(" Here: {{#if tone}} [TEMPLATE_SYNTAX]");
  });

  test("warns once about a placeholder that is not declared, and sends it as is", () => {
    const source = parseOne(textPrompt("About ${topic},\nand {{ place }}, and ${topic}."));
    expect(source.definition.steps[0]?.template).toContain("${topic}");
    expect(source.definition.inputs.map(({ key }) => key)).toEqual(["place"]);
    const warnings = source.warnings.filter((warning) => warning.includes("${topic}"));
    expect(warnings).toEqual([expect.stringMatching(/^line 6, column 7: \$\{topic\}: .*\{\{ topic \}\}/)]);
  });

  test("reports the column of a fault after a rewritten placeholder", () => {
    expect(faultsOf(textPrompt("{{Child's Age}} and {{ a | nonsense }}"))[0]).toMatchObject({
      line: 6,
      column: 24 + "{{ a | ".length - "{{ ".length,
      excerpt: "{{ a | nonsense }}",
    });
  });

  test("reports the column of a fault in the instructions, both in a block and on a single line", () => {
    const block = textPrompt("x", "instructions: |\n    Be kind.\n    Say {{ a b }}.");
    expect(faultsOf(block)[0]).toMatchObject({ line: 7, column: 12, excerpt: "{{ a b }}" });
    const line = textPrompt("x", "instructions: Say {{ a b }}.");
    expect(faultsOf(line)[0]).toMatchObject({ line: 5, column: 22, excerpt: "{{ a b }}" });
    const quoted = textPrompt("x", 'instructions: "Say {{ a b }}."');
    expect(faultsOf(quoted)[0]).toMatchObject({ line: 5, excerpt: "{{ a b }}" });
    expect(faultsOf(quoted)[0]).not.toHaveProperty("column");
  });
});

function messageOf(text: string): string {
  try {
    parsePromptFile(text, catalogue);
  } catch (error) {
    if (error instanceof PromptFileError) return error.message;
    throw error;
  }
  throw new Error("The file has no fault.");
}
