import { describe, expect, test } from "vitest";
import type { FaultCode } from "./prompt-fault.ts";
import { codesOf, faultsOf, parseOne, textPrompt } from "./prompt-fixtures.ts";
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
    ["{{ constructor }}", ["constructor"]],
    ["{{ topic | append: other | upcase }}", ["topic", "other"]],
    [
      "{% if a == b and c contains d %}{{ e }}{% elsif f %}{{ g }}{% else %}{{ h }}{% endif %}",
      ["a", "b", "c", "d", "e", "f", "g", "h"],
    ],
    ["{% unless a %}{{ b }}{% else %}{{ c }}{% endunless %}", ["a", "b", "c"]],
    ["{% case a %}{% when b, 'x' or c %}{{ d }}{% else %}{{ e }}{% endcase %}", ["a", "b", "c", "d", "e"]],
    ["{% assign x = a | split: b %}{{ x | join: c }}", ["a", "b", "c"]],
    ["{% raw %}{{ a }}{% endraw %}{% comment %}{{ b }} {% unknown %}{% endcomment %}{% # c %}{{ d }}", ["d"]],
    ["no variable at all", []],
  ])("%s reads %j and has no fault", (template, keys) => {
    const facts = scanTemplate(template);
    expect(facts.faults).toEqual([]);
    expect([...facts.inputs.keys()]).toEqual(keys);
  });
});

describe("what no template may hold", () => {
  const refusals: [template: string, code: FaultCode, message: RegExp][] = [
    ["{{ the topic }}", "TEMPLATE_SYNTAX", /One value is expected/],
    ["{{ topic other | upcase }}", "TEMPLATE_SYNTAX", /One value is expected/],
    ["{{ a and b }}", "TEMPLATE_SYNTAX", /One value is expected/],
    ["{{ topic , x }}", "TEMPLATE_SYNTAX", /after the expression/],
    ["{{ topic ) x }}", "TEMPLATE_SYNTAX", /after the expression/],
    ["{{ }}", "TEMPLATE_SYNTAX", /missing/],
    ["{{ topic", "TEMPLATE_SYNTAX", /not closed/],
    ["{% if topic %}", "TEMPLATE_SYNTAX", /not closed/],
    ["{% endif %}", "TEMPLATE_SYNTAX", /no tag "endif"/],
    ["{% if a %}{% else %}x{% elsif b %}y{% endif %}", "TEMPLATE_SYNTAX", /never be used/],
    ["{% unless a %}{% else x %}{% endunless %}", "TEMPLATE_SYNTAX", /takes nothing/],
    ["{% if a b %}{% endif %}", "TEMPLATE_SYNTAX", /Unexpected "b"/],
    ["{% if a == %}{% endif %}", "TEMPLATE_SYNTAX", /missing/],
    ['{% if a == "b %}{% endif %}', "TEMPLATE_SYNTAX", /not closed/],
    ["{% case a %}{% when 'x' 'y' %}{% endcase %}", "TEMPLATE_SYNTAX", /"," or "or"/],
    ["{{ topic | date: '%Y' }}", "TEMPLATE_SYNTAX", /no filter "date"/],
    ["{{ topic | where_exp: 'a', 'b' }}", "TEMPLATE_SYNTAX", /no filter/],
    ["{{ topic | constructor }}", "TEMPLATE_SYNTAX", /no filter "constructor"/],
    ["{{ topic | append }}", "TEMPLATE_SYNTAX", /takes 1 arguments, got 0/],
    ["{% if a %}{{ topic | replace: 'x' }}{% endif %}", "TEMPLATE_SYNTAX", /takes 2 arguments, got 1/],
    ["{{ topic | append: x: 'y' }}", "TEMPLATE_SYNTAX", /no argument named "x"|takes 1/],
    ["{{ (1..100000000) }}", "TEMPLATE_SYNTAX", /Ranges/],
    ["{% include 'secret' %}", "TEMPLATE_SYNTAX", /no tag "include"/],
    ["{% render 'secret' %}", "TEMPLATE_SYNTAX", /no tag "render"/],
    ["{% layout 'x' %}", "TEMPLATE_SYNTAX", /no tag "layout"/],
    ["{% for i in (1..9) %}{{ i }}{% endfor %}", "TEMPLATE_SYNTAX", /no tag "for"/],
    ["{% capture x %}a{% endcapture %}", "TEMPLATE_SYNTAX", /no tag "capture"/],
    ["{% increment x %}", "TEMPLATE_SYNTAX", /no tag "increment"/],
    ["{% liquid echo topic %}", "TEMPLATE_SYNTAX", /no tag "liquid"/],
    ["{% echo topic %}", "TEMPLATE_SYNTAX", /no tag "echo"/],
    ["{% constructor %}", "TEMPLATE_SYNTAX", /no tag "constructor"/],
    ["{% __proto__ %}", "TEMPLATE_SYNTAX", /no tag "__proto__"/],
    ["{{ topic.length }}", "PATH_ACCESS", /no members/],
    ["{{ topic.constructor.constructor }}", "PATH_ACCESS", /no members/],
    ["{{ topic['__proto__'] }}", "PATH_ACCESS", /no members/],
    ["{{ input }}", "PATH_ACCESS", /one name belongs/],
    ["{{ input | json }}", "PATH_ACCESS", /one name belongs/],
    ["{{ steps }}", "PATH_ACCESS", /one name belongs/],
    ["{{ input.a.b }}", "PATH_ACCESS", /one name belongs/],
    ["{{ input[topic] }}", "PATH_ACCESS", /one quoted text/],
    ["{{ input[0] }}", "PATH_ACCESS", /one quoted text/],
    ["{{ [topic] }}", "PATH_ACCESS", /one quoted text/],
    ["{{ input['a' b] }}", "PATH_ACCESS", /one quoted text/],
    ["{{ 'text'.size }}", "PATH_ACCESS", /one quoted text/],
    ["{{ 'text'[topic] }}", "PATH_ACCESS", /one quoted text/],
    ["{{ a | append: input[b] }}", "PATH_ACCESS", /one quoted text/],
    ["{% assign x = a | split: ',' %}{{ x[0] }}", "PATH_ACCESS", /one quoted text|no members/],
    ["{% assign x = input %}{{ x }}", "PATH_ACCESS", /one name belongs/],
    ["{{ forloop }}", "PATH_ACCESS", /reserved name/],
    ["{% assign input = 'x' %}", "SHADOWED", /reserved/],
    ["{% assign __proto__ = 'x' %}", "SHADOWED", /reserved/],
    ["{% if true %}".repeat(40) + "{% endif %}".repeat(40), "TEMPLATE_SYNTAX", /nested more than 32/],
    ["[".repeat(50_000).replace(/^/, "{{ input") + " }}", "TEMPLATE_SYNTAX", /Not a Liquid expression|closed/],
    ["x".repeat(100_001), "LIMITS", /limit is 100000/],
    [`{% if ${"a contains b or ".repeat(600)} a %}{% endif %}`, "LIMITS", /compares 1200 times; the limit is 500/],
    [`{% case a %}{% when ${"b or ".repeat(600)} b %}{% endcase %}`, "LIMITS", /compares 601 times/],
  ];
  const named = refusals.map(([template, code, message]) => [template.slice(0, 60), code, template, message] as const);
  test.each(named)("%s is refused as %s", (_, code, template, message) => {
    const { faults } = scanTemplate(template);
    expect(faults.map((fault) => fault.code)).toContain(code);
    expect(faults.map((fault) => fault.message).join("\n")).toMatch(message);
  });

  test("all faults of a template come at once, each with its line", () => {
    const faults = faultsOf(textPrompt("one {{ a b }}\ntwo {{ c.d }}\nthree {% include 'x' %}"));
    expect(faults.map(({ line, code, field }) => [line, code, field])).toEqual([
      [6, "TEMPLATE_SYNTAX", "template"],
      [7, "PATH_ACCESS", "template"],
      [8, "TEMPLATE_SYNTAX", "template"],
    ]);
  });
});

describe("declarations", () => {
  test("a key that is read but not declared is a fault, also in a branch and in instructions", () => {
    const fields = "inputs: { a: {} }\ninstructions: For {{ hidden }}.";
    expect(codesOf(textPrompt("{{ a }}{% if a == 'x' %}{{ rare }}{% endif %}", fields))).toEqual([
      "INPUT_UNDECLARED",
      "INPUT_UNDECLARED",
    ]);
  });

  test("a declared key that nothing reads is a fault", () => {
    expect(faultsOf(textPrompt("{{ a }}", "inputs: { a: {}, b: {} }"))).toEqual([
      { line: 5, field: "inputs.b", code: "INPUT_UNUSED", message: "is declared, but no template reads it" },
    ]);
  });

  test("assigning a declared key is a fault, since it would hide what the caller gave", () => {
    expect(codesOf(textPrompt("{% assign topic = 'x' %}{{ topic }}", "inputs: { topic: {} }"))).toContain("SHADOWED");
  });

  test("without inputs every key found is a required text, in the order of the body", () => {
    const { definition } = parseOne(textPrompt("{{ b }}{{ input['a c'] }}", "instructions: To {{ z }}."));
    expect(definition.inputs.map(({ key, default: value }) => [key, value])).toEqual([
      ["b", null],
      ["a c", null],
      ["z", null],
    ]);
  });

  test("a condition on a bare text warns, since an empty text is true in Liquid", () => {
    expect(parseOne(textPrompt("{% if tone %}{{ tone }}{% endif %}")).warnings.join()).toContain('"tone"');
    expect(parseOne(textPrompt("{% if tone != blank %}{{ tone }}{% endif %}")).warnings.join()).not.toContain('"tone"');
  });
});
