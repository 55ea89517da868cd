import { describe, expect, test } from "vitest";
import type { FaultCode } from "../prompt-fault.ts";
import { codesOf, faultsOf, parseOne, textPrompt } from "../../../test/prompts/prompt-fixtures.ts";
import { linesOf } from "./lines-of.ts";
import { scanTemplate } from "./template-scan.ts";

describe("what a template may read", () => {
  test.each([
    ["{{ topic }}", ["topic"]],
    ["{{topic}}", ["topic"]],
    ["{{- topic -}}", ["topic"]],
    ["{{ chữ }}", ["chữ"]],
    ["{{ a-b }}", ["a-b"]],
    ["{{ 7up }}", ["7up"]],
    ['{{ input["Child\'s Age"] }}', ["Child's Age"]],
    ["{{ input['a \"b\"'] }}", ['a "b"']],
    ['{{ input["letter [A-Z]"] }}', ["letter [A-Z]"]],
    ['{{ input["say \\"hi\\""] }}', ['say "hi"']],
    ['{{ input["forloop"] }}', ["forloop"]],
    ['{{ input["input"] }}', ["input"]],
    ['{{ input["constructor"] }}', ["constructor"]],
    ["{{ input[ 'a' ] }}", ["a"]],
    ["{{ constructor }}", ["constructor"]],
    ["{{ topic | append: other | upcase }}", ["topic", "other"]],
    [
      "{% if a == b and c contains d %}{{ e }}{% elsif f %}{{ g }}{% else %}{{ h }}{% endif %}",
      ["a", "b", "c", "d", "e", "f", "g", "h"],
    ],
    ["{% unless a %}{{ b }}{% else %}{{ c }}{% endunless %}", ["a", "b", "c"]],
    ["{% unless a %}{{ b }}{% elsif c %}{{ d }}{% endunless %}", ["a", "b", "c", "d"]],
    ["{% case a %}{% when b , 'x' or  c %}{{ d }}{% else %}{{ e }}{% endcase %}", ["a", "b", "c", "d", "e"]],
    ["{% assign x = a | split: b %}{{ x | join: c }}", ["a", "b", "c"]],
    ["{% raw %}{{ a }}{% endraw %}{% comment %}{{ b }} {% unknown %}{% endcomment %}{% # c %}{{ d }}", ["d"]],
    ["{{ a }}{% assign a = 'x' %}{{ a }}", ["a"]],
    ["{% assign x = 'a' %}{{ x }}{{ input['x'] }}", ["x"]],
    ["{% assign  x=a %}{% assign x = b %}{{ x }}", ["a", "b"]],
    ["{{ a }}{{ b }}{{ input['a'] }}{{ a }}", ["a", "b"]],
    ["{{ a | default: b, allow_false: c }}", ["a", "b", "c"]],
    ["{{ a | truncate }}{{ b | truncate: c }}{{ d | truncate: e, f }}", ["a", "b", "c", "d", "e", "f"]],
    ["{% if not a %}{% endif %}{% if not a or not b == c %}{% endif %}", ["a", "b", "c"]],
    ["{% if a | upcase %}{% endif %}", ["a"]],
    ["{% comment %}{% if %}{{ a b }}{% endif %}{% endcomment %}{{ c }}", ["c"]],
    ["{% raw %}{{ a b }}{% endraw %}{{ c }}", ["c"]],
    ["no variable", []],
  ])("%s reads %j and has no fault", (template, keys) => {
    const facts = scanTemplate(template);
    expect(facts.faults).toEqual([]);
    expect([...facts.inputs.keys()]).toEqual(keys);
  });
});

test("a template at all limits is read: 100,000 characters, 32 blocks deep, 500 comparisons", () => {
  const deep = "{% if a %}".repeat(31);
  const compared = `{% if ${"a == b or ".repeat(250)}a %}{% endif %}`; // 250 of each operator
  const template = `${deep}${compared}${"{% endif %}".repeat(31)}`;
  expect(scanTemplate(template.padEnd(100_000)).faults).toEqual([]);
  expect(scanTemplate(template.padEnd(100_001)).faults.map((fault) => fault.code)).toEqual(["LIMITS"]);
  expect(scanTemplate(`{% if a %}${template}{% endif %}`).faults.map((fault) => fault.message)).toEqual([
    "Tags are nested more than 32 levels deep.",
  ]);
  expect(scanTemplate(`${template}{% if a == b %}{% endif %}`).faults.map((fault) => fault.message)).toEqual([
    "The template makes 501 comparisons; the limit is 500.",
  ]);
});

test("names in an invalid expression are not inputs, and need no declaration", () => {
  expect([...scanTemplate("{{ the topic }}{% if a b %}{% endif %}").inputs.keys()]).toEqual([]);
});

test("steps are read by their ids, alongside inputs with the same name", () => {
  const facts = scanTemplate("{{ steps.draft }}{{ draft }}{{ steps['second one'] | upcase }}{{ steps.draft }}");
  expect(facts.faults).toEqual([]);
  expect([...facts.steps.keys()]).toEqual(["draft", "second one"]);
  expect([...facts.inputs.keys()]).toEqual(["draft"]);
});

test("a condition on a bare text is reported wherever it stands alone, and nothing else is", () => {
  const truthTests = (condition: string) =>
    scanTemplate(`{% if ${condition} %}{% endif %}`).truthTests.map((read) => read.key);
  expect(truthTests("a")).toEqual(["a"]);
  expect(truthTests("not a")).toEqual(["a"]);
  expect(truthTests("a and b == c or input['d'] or 'x'")).toEqual(["a", "d"]);
  expect(truthTests("a == b and c contains d")).toEqual([]);
  expect(truthTests("a | size")).toEqual([]);
  expect(scanTemplate("{% if x %}{% elsif a %}{% endif %}{% unless b %}{% endunless %}").truthTests).toHaveLength(3);
  expect(scanTemplate("{{ a }}{% assign t = a %}{% case a %}{% when b %}{% endcase %}").truthTests).toEqual([]);
});

describe("what no template may contain", () => {
  const refusals: [template: string, code: FaultCode, message: RegExp][] = [
    [
      "{{ the  topic }}",
      "TEMPLATE_SYNTAX",
      /Expected one value before .* got "the topic"\. .* write {{ input\["the topic"\] }}\.$/,
    ],
    ["{{ topic other | upcase }}", "TEMPLATE_SYNTAX", /Expected one value before/],
    ["{{ a and b }}", "TEMPLATE_SYNTAX", /Expected one value before/],
    ["{{ topic , x }}", "TEMPLATE_SYNTAX", /after the expression/],
    ["{{ topic ) x }}", "TEMPLATE_SYNTAX", /after the expression/],
    ["{{ }}", "TEMPLATE_SYNTAX", /Expected an expression here/],
    ["{{ topic", "TEMPLATE_SYNTAX", /not closed/],
    ["{% if topic %}", "TEMPLATE_SYNTAX", /not closed/],
    ["{% endif %}", "TEMPLATE_SYNTAX", /tag "endif" is not allowed/],
    ["{% if a %}{% else %}x{% elsif b %}y{% endif %}", "TEMPLATE_SYNTAX", /would never run/],
    ["{% unless a %}{% else x %}{% endunless %}", "TEMPLATE_SYNTAX", /does not accept arguments/],
    ["{% if a b %}{% endif %}", "TEMPLATE_SYNTAX", /Unexpected "b"/],
    ["{% if a = 'b' %}{% endif %}", "TEMPLATE_SYNTAX", /To compare for equality, write ==\.$/],
    ["{% if a && b %}{% endif %}", "TEMPLATE_SYNTAX", /Use "and" or "or"\.$/],
    ["{{ input[“Child's Age”] }}", "TEMPLATE_SYNTAX", /not closed\. Use straight quotes/],
    ["{{ Child's Age | upcase }}", "TEMPLATE_SYNTAX", /not closed\. An apostrophe starts a string .* input\["…"\]/],
    ["{% if a %}{% elseif b %}{% endif %}", "TEMPLATE_SYNTAX", /"elseif" is not allowed here\. Write {% elsif … %}\.$/],
    ["{% if a %}{% else if b %}{% endif %}", "TEMPLATE_SYNTAX", /got "if b"\. Write {% elsif … %}\.$/],
    ["{% set x = 1 %}", "TEMPLATE_SYNTAX", /Write {% assign … %}\.$/],
    ["{% if a == %}{% endif %}", "TEMPLATE_SYNTAX", /Expected a value/],
    ['{% if a == "b %}{% endif %}', "TEMPLATE_SYNTAX", /The string "b has no closing quote/],
    ["{% if a == ' %}{% endif %}", "TEMPLATE_SYNTAX", /The string ' has no closing quote/],
    ["{% case a %}{% when 'x' 'y' %}{% endcase %}", "TEMPLATE_SYNTAX", /"," or "or"/],
    ["{% case a b %}{% endcase %}", "TEMPLATE_SYNTAX", /Expected one value before/],
    ["{% case a %}{% when %}{% endcase %}", "TEMPLATE_SYNTAX", /Invalid list of values/],
    ["{% if a %}{% when b %}{% endif %}", "TEMPLATE_SYNTAX", /tag "when" is not allowed here/],
    ["{% case a %}{% elsif b %}{% endcase %}", "TEMPLATE_SYNTAX", /tag "elsif" is not allowed here/],
    ["{% if a %}{% endunless %}{% endif %}", "TEMPLATE_SYNTAX", /tag "endunless" is not allowed here/],
    ["{% if a %}{% endif b %}", "TEMPLATE_SYNTAX", /"endif" does not accept arguments, got "b"/],
    ["{% if a %}{% else %}{% else %}{% endif %}", "TEMPLATE_SYNTAX", /"else" comes after "else"/],
    ["{% if a %}{% elsif %}{% endif %}", "TEMPLATE_SYNTAX", /Expected an expression/],
    ["{% if a == b == %}{% endif %}", "TEMPLATE_SYNTAX", /value after the last operator/],
    ["{% if == a %}{% endif %}", "TEMPLATE_SYNTAX", /Unexpected "=="/],
    ["{% if a not b %}{% endif %}", "TEMPLATE_SYNTAX", /Unexpected "not"/],
    ["{% assign x 'y' %}", "TEMPLATE_SYNTAX", /must have the form/],
    ["{% assign = 'y' %}", "TEMPLATE_SYNTAX", /must have the form/],
    ["{% assign x = %}", "TEMPLATE_SYNTAX", /Expected an expression/],
    ["{% assign x = a b %}", "TEMPLATE_SYNTAX", /Expected one value before/],
    ["{% comment %}never closed", "TEMPLATE_SYNTAX", /not closed/],
    ["{{ topic | truncate: 1, 'x', 'y' }}", "TEMPLATE_SYNTAX", /accepts 0 to 2 arguments, got 3/],
    ["{{ topic | upcase: 'x' }}", "TEMPLATE_SYNTAX", /accepts 0 arguments, got 1/],
    ["{{ topic | join: allow_false: true }}", "TEMPLATE_SYNTAX", /"join" has no argument named "allow_false"/],
    ["{{ topic | default: a, other: b }}", "TEMPLATE_SYNTAX", /"default" has no argument named "other"/],
    ["{{ 'topic }}", "TEMPLATE_SYNTAX", /not closed/],
    ["{{ input['topic] }}", "TEMPLATE_SYNTAX", /not closed/],
    ["{{ topic | date: '%Y' }}", "TEMPLATE_SYNTAX", /filter "date" does not exist/],
    ["{{ topic | where_exp: 'a', 'b' }}", "TEMPLATE_SYNTAX", /filter "where_exp" does not exist/],
    ["{{ topic | constructor }}", "TEMPLATE_SYNTAX", /filter "constructor" does not exist/],
    ["{{ topic | append }}", "TEMPLATE_SYNTAX", /accepts 1 argument, got 0/],
    ["{% if a %}{{ topic | replace: 'x' }}{% endif %}", "TEMPLATE_SYNTAX", /accepts 2 arguments, got 1/],
    ["{{ topic | append: x: 'y' }}", "TEMPLATE_SYNTAX", /no argument named "x"|accepts 1/],
    ["{{ (1..100000000) }}", "TEMPLATE_SYNTAX", /Ranges/],
    ["{% include 'secret' %}", "TEMPLATE_SYNTAX", /tag "include" is not allowed/],
    ["{% render 'secret' %}", "TEMPLATE_SYNTAX", /tag "render" is not allowed/],
    ["{% layout 'x' %}", "TEMPLATE_SYNTAX", /tag "layout" is not allowed/],
    ["{% for i in (1..9) %}{{ i }}{% endfor %}", "TEMPLATE_SYNTAX", /Ranges and groups/],
    ["{% capture x %}a{% endcapture %}", "TEMPLATE_SYNTAX", /tag "capture" is not allowed/],
    ["{% increment x %}", "TEMPLATE_SYNTAX", /tag "increment" is not allowed/],
    ["{% liquid echo topic %}", "TEMPLATE_SYNTAX", /tag "liquid" is not allowed/],
    ["{% echo topic %}", "TEMPLATE_SYNTAX", /tag "echo" is not allowed/],
    ["{% constructor %}", "TEMPLATE_SYNTAX", /tag "constructor" is not allowed/],
    ["{% __proto__ %}", "TEMPLATE_SYNTAX", /tag "__proto__" is not allowed/],
    ["{{ topic.length }}", "PATH_ACCESS", /no fields/],
    ["{{ topic.constructor.constructor }}", "PATH_ACCESS", /no fields/],
    ["{{ topic['__proto__'] }}", "PATH_ACCESS", /no fields/],
    ["{{ input }}", "PATH_ACCESS", /expected one name after "input", as in input\["key"\]\.$/],
    ["{{ input | json }}", "PATH_ACCESS", /expected one name after/],
    ["{{ steps }}", "PATH_ACCESS", /expected one name after "steps", as in steps\.id\.$/],
    ["{{ input.a.b }}", "PATH_ACCESS", /expected one name after/],
    ["{{ input[topic] }}", "PATH_ACCESS", /one quoted string/],
    ["{{ input[0] }}", "PATH_ACCESS", /one quoted string/],
    ["{{ [topic] }}", "PATH_ACCESS", /one quoted string/],
    ["{{ input['a' b] }}", "PATH_ACCESS", /one quoted string/],
    ["{{ 'text'.size }}", "PATH_ACCESS", /one quoted string/],
    ["{{ 'text'[topic] }}", "PATH_ACCESS", /one quoted string/],
    ["{{ a | append: input[b] }}", "PATH_ACCESS", /one quoted string/],
    ["{% assign x = a | split: ',' %}{{ x[0] }}", "PATH_ACCESS", /one quoted string|no fields/],
    ["{% assign x = input %}{{ x }}", "PATH_ACCESS", /expected one name after/],
    ["{{ forloop }}", "PATH_ACCESS", /reserved name/],
    ["{% assign input = 'x' %}", "SHADOWED", /reserved/],
    ["{% assign __proto__ = 'x' %}", "SHADOWED", /reserved/],
    ["{% if true %}".repeat(40) + "{% endif %}".repeat(40), "TEMPLATE_SYNTAX", /nested more than 32/],
    ["[".repeat(50_000).replace(/^/, "{{ input") + " }}", "TEMPLATE_SYNTAX", /Invalid Liquid expression|closed/],
    ["x".repeat(100_001), "LIMITS", /limit is 100000/],
    [`{% if ${"a contains b or ".repeat(600)} a %}{% endif %}`, "LIMITS", /makes 1200 comparisons; the limit is 500/],
    [`{% case a %}{% when ${"b or ".repeat(600)} b %}{% endcase %}`, "LIMITS", /makes 601 comparisons/],
  ];
  const named = refusals.map(([template, code, message]) => [template.slice(0, 60), code, template, message] as const);
  test.each(named)("%s is rejected as %s", (_, code, template, message) => {
    const { faults } = scanTemplate(template);
    expect(faults.map((fault) => fault.code)).toContain(code);
    expect(faults.map((fault) => fault.message).join("\n")).toMatch(message);
  });

  test("all faults of a template are reported together, each with its line", () => {
    const faults = faultsOf(textPrompt("one {{ a b }}\ntwo {{ c.d }}\nthree {% include 'x' %}"));
    expect(faults.map(({ line, code, field }) => [line, code, field])).toEqual([
      [6, "TEMPLATE_SYNTAX", "template"],
      [7, "PATH_ACCESS", "template"],
      [8, "TEMPLATE_SYNTAX", "template"],
    ]);
  });
});

describe("a loop", () => {
  test("iterates over one input, names its items, has loop variables, and may have an else branch", () => {
    const fields = ["index", "index0", "rindex", "first", "last", "length"].map((field) => `{{ forloop.${field} }}`);
    const text = `{% for item in things %}${fields.join("")}{{ item }}{% else %}{{ none }}{% endfor %}`;
    const { faults, inputs, locals, loops, bare } = scanTemplate(`${text}{% for item in others %}{% endfor %}`);
    expect(faults).toEqual([]);
    expect([...inputs.keys()]).toEqual(["things", "none", "others"]);
    expect([...locals]).toEqual([["item", 0]]);
    expect([loops, bare].map((reads) => reads.map(({ key }) => key))).toEqual([
      ["things", "others"],
      ["item", "none"],
    ]);
  });

  const form = "A loop must have the form {% for item in things %}.";
  const one = "A loop must iterate over one input of type list, without filters.";
  const outside = '"forloop" is available only inside {% for %}.';
  test.each([
    ["{% for %}{% endfor %}", "TEMPLATE_SYNTAX", form],
    ["{% for item of things %}{% endfor %}", "TEMPLATE_SYNTAX", form],
    ["{% for in things %}{% endfor %}", "TEMPLATE_SYNTAX", form],
    ["{% for 'a' in things %}{% endfor %}", "TEMPLATE_SYNTAX", form],
    ["{% for input in things %}{% endfor %}", "SHADOWED", '"input" is a reserved name and cannot be assigned.'],
    ["{% for item in things | upcase %}{% endfor %}", "TEMPLATE_SYNTAX", one],
    ["{% for item in steps.draft %}{% endfor %}", "TEMPLATE_SYNTAX", one],
    ["{% for item in 'text' %}{% endfor %}", "TEMPLATE_SYNTAX", one],
    ["{{ forloop.index }}", "PATH_ACCESS", outside],
    ["{% if a %}{{ forloop.index }}{% endif %}", "PATH_ACCESS", outside],
  ])("%s is rejected with exactly that fault", (template, code, message) => {
    expect(scanTemplate(template).faults).toEqual([{ offset: expect.any(Number), code, message }]);
  });

  test.each([
    ["{% for item in things b %}{% endfor %}", /Expected one value/],
    ["{% for item in things %}{{ forloop.index.x }}{% endfor %}", /have no fields/],
    ["{% for item in things %}{% elsif a %}{% endfor %}", /"elsif" is not allowed here/],
  ])("%s is rejected with one fault", (template, message) => {
    expect(scanTemplate(template).faults.map((fault) => fault.message)).toEqual([expect.stringMatching(message)]);
  });
});

test("at most 50 faults of a template are reported", () => {
  expect(scanTemplate("{{ a b }}".repeat(60)).faults).toHaveLength(50);
});

describe("a fault names the line of its cause", () => {
  test.each([
    ["an expression", "one\ntwo\nthree {{ a\nb }}", 3],
    ["a block that is never closed", "one\n{% if a %}\nthree", 2],
    ["an output that is never closed", "one\n{{ a", 2],
    ["an unknown tag", "one\n\n{% for %}", 3],
    ["a misplaced tag", "one\n{% if a %}\n{% when b %}\n{% endif %}", 3],
    ["a tag after else", "{% if a %}{% else %}\n{% elsif b %}{% endif %}", 2],
    ["words after else", "{% if a %}\n{% else b %}{% endif %}", 2],
    ["values of when", "{% case a %}\n{% when 'x' 'y' %}{% endcase %}", 2],
    ["an assignment", "one\n{% assign a %}", 2],
    ["a misplaced operator", "{% if a\n== == b %}{% endif %}", 2],
    ["a filter", "{{ a\n| upcase\n| date }}", 3],
    ["a path", "{{ a }}\n{{ a.b }}", 2],
  ])("%s", (_, template, line) => {
    const [fault, ...others] = scanTemplate(template).faults;
    expect(others).toEqual([]);
    expect(linesOf(template)(fault?.offset ?? -1)).toBe(line);
  });

  test("where a line break belongs to the line it ends", () => {
    expect([0, 1, 2, 3, 4].map((offset) => linesOf("a\nb\n")(offset))).toEqual([1, 1, 2, 2, 3]);
  });

  test.each([
    ["{{ a }}".repeat(10_001)],
    [`{{ a${" | upcase".repeat(10_000)} }}`],
    [`{% for i in l %}${"{{ i }}".repeat(101)}{% endfor %}`],
    [`{% for i in l %}{% if a contains b${" or a contains b".repeat(20)} %}{% endif %}{% endfor %}`],
  ])("and is a single fault for too much rendering work", (template) => {
    expect(scanTemplate(template).faults.map(({ code }) => code)).toEqual(["LIMITS"]);
  });

  test("and counts the work of all texts of a prompt together", () => {
    const part = "{{ a }}".repeat(5_000);
    expect(codesOf(textPrompt(part, `instructions: "${part}"`))).toEqual([]);
    expect(codesOf(textPrompt(`${part}{{ a }}`, `instructions: "${part}"`))).toEqual(["LIMITS"]);
  });

  test("and lists the allowed tags for an unknown tag", () => {
    expect(scanTemplate("{% cycle %}").faults.map((fault) => fault.message)).toEqual([
      'The tag "cycle" is not allowed here. Allowed tags: if, unless, case, for, assign, comment, raw, #, and their branches and end tags.',
    ]);
  });

  test("and suggests a filter for a misspelled one", () => {
    expect(scanTemplate("{{ a | upcse }}").faults.map((fault) => fault.message)).toEqual([
      'The filter "upcse" does not exist. Did you mean "upcase"?',
    ]);
  });

  test("and lists the filters for an unknown filter", () => {
    expect(scanTemplate("{{ a | date: '%Y' }}").faults.map((fault) => fault.message)).toEqual([
      'The filter "date" does not exist. Filters: default, upcase, downcase, capitalize, strip, lstrip, rstrip, strip_newlines, append, prepend, replace, remove, truncate, truncatewords, split, join, first, last, size, json, plus, minus, times, divided_by, modulo, round, number_of_words.',
    ]);
  });

  test("and repeats the parser's message without the parser's own line and column", () => {
    const template = `${"\n".repeat(11)}${" ".repeat(33)}{{ a, line:1, col:1 b`;
    expect(scanTemplate(template).faults.map((fault) => fault.message)).toEqual([
      'output "{{ a, line:1, col:1 b" not closed.',
    ]);
  });

  test("and the first assignment over an input", () => {
    const body = "{{ a }}\n{% assign a = 'x' %}\n{% assign a = 'y' %}";
    const faults = faultsOf(textPrompt(body, "inputs: { a: {} }"));
    expect(faults.map(({ code, line }) => [code, line])).toEqual([["SHADOWED", 8]]);
  });

  test("and the first read of an input", () => {
    const faults = faultsOf(textPrompt("{{ a }}\n{{ b }}\n{{ b }}\n{{ a }}", "inputs: { a: {} }"));
    expect(faults.map(({ code, line }) => [code, line])).toEqual([["INPUT_UNDECLARED", 8]]);
  });

  test("for the first fifty faults of a template that has more", () => {
    const { faults } = scanTemplate("{{ a b }}\n".repeat(60));
    expect(faults).toHaveLength(50);
    expect(faults.at(-1)?.offset).toBe("{{ a b }}\n".length * 49 + 3);
  });

  test("and the scan stops after the last reported fault, since each one costs time in proportion to the template's length", () => {
    expect(scanTemplate(`${"{{ a b }}".repeat(49)}{{ late }}`).inputs.has("late")).toBe(true);
    expect(scanTemplate(`${"{{ a b }}".repeat(50)}{{ late }}`).inputs.has("late")).toBe(false);
  });
});

describe("declarations", () => {
  test("a key that is read but not declared is a fault, even in a branch or in instructions", () => {
    const fields = "inputs: { a: {} }\ninstructions: For {{ hidden }}.";
    expect(codesOf(textPrompt("{{ a }}{% if a == 'x' %}{{ rare }}{% endif %}", fields))).toEqual([
      "INPUT_UNDECLARED",
      "INPUT_UNDECLARED",
    ]);
  });

  test("a declared key that nothing reads is a fault", () => {
    expect(faultsOf(textPrompt("{{ a }}", "inputs: { a: {}, b: {} }"))).toEqual([
      {
        line: 5,
        field: "inputs.b",
        code: "INPUT_UNUSED",
        message: "is declared, but no template uses it. Use it or remove it",
      },
    ]);
  });

  test("assigning a declared key is a fault, since it would hide the caller's value", () => {
    expect(codesOf(textPrompt("{% assign topic = 'x' %}{{ topic }}", "inputs: { topic: {} }"))).toContain("SHADOWED");
  });

  test("without inputs, every key found is a required text, in the order of the body", () => {
    const { definition } = parseOne(textPrompt("{{ b }}{{ input['a c'] }}", "instructions: To {{ z }}."));
    expect(definition.inputs.map(({ key, default: value }) => [key, value])).toEqual([
      ["b", null],
      ["a c", null],
      ["z", null],
    ]);
  });

  test("a condition on a bare text gets a warning, since empty text is true in Liquid", () => {
    expect(parseOne(textPrompt("{% if tone %}{{ tone }}{% endif %}")).warnings.join()).toContain('"tone"');
    expect(parseOne(textPrompt("{% if tone != blank %}{{ tone }}{% endif %}")).warnings.join()).not.toContain('"tone"');
  });
});
