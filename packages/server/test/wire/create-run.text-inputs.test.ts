/** Text inputs against what a prompt expects: what is filled in, what is refused, what is ignored. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { promptFile } from "../prompts/prompt-files.ts";
import { bodyOf, errorOf, issueLines, issuesOf, postRun, runOf } from "./requests.ts";

let server: TestServer;
let caller: TestCaller;

beforeAll(async () => {
  server = await startTestServer();
  caller = await server.createCaller({ credits: 100_000 });
});
afterAll(() => server.close());

/** Publishes a prompt that writes out the given inputs, and runs it. */
async function prompt(inputs: string, body: string) {
  const { promptVersionId } = await server.publish(promptFile({ fields: `inputs: ${inputs}`, body }));
  const create = (textInputs: unknown) => postRun(caller.client, { promptVersionId, inputs: { textInputs } });
  return {
    create,
    /** What the model was given, without the sandbox's own header. */
    write: async (textInputs: unknown) => {
      const [output] = runOf(await create(textInputs)).outputs;
      return output?.data.split("---\n")[1];
    },
  };
}

describe("a required key", () => {
  const INPUTS = "{ topic: {}, tone: {}, Child's Age: {} }";
  const BODY = '{{ topic }}|{{ tone }}|{{ input["Child\'s Age"] }}';

  test("that is absent, empty or only white space is missing; all missing keys are named at once", async () => {
    const { create } = await prompt(INPUTS, BODY);
    const answer = await create({ topic: "", tone: " \t\n\u00a0" });
    expect(answer.httpStatus).toBe(422);
    expect(issueLines(answer)).toEqual([
      "required body.inputs.textInputs.topic",
      "required body.inputs.textInputs.tone",
      "required body.inputs.textInputs.Child's Age",
    ]);
    expect(errorOf(answer).message).toBe(
      'Text inputs "topic", "tone", and "Child\'s Age" are required. Blank text counts as missing.',
    );
  });

  test.each([undefined, null, {}])("is missing when textInputs is %j", async (textInputs) => {
    const { create } = await prompt("{ topic: {} }", "{{ topic }}");
    expect(errorOf(await create(textInputs)).message).toBe('Text input "topic" is required.');
  });

  test('two missing keys are joined by "and"', async () => {
    const { create } = await prompt("{ topic: {}, tone: {} }", "{{ topic }} {{ tone }}");
    expect(errorOf(await create({})).message).toBe('Text inputs "topic" and "tone" are required.');
  });

  test("is passed on unchanged: no trimming, no normalization, no escaping", async () => {
    const { write } = await prompt("{ topic: {} }", "[{{ topic }}]");
    for (const value of ["  a  ", "e\u0301", "<b>&amp;</b>", "{{ tone }} {% raw %}", "日本 🍵", "a\r\nb"]) {
      expect(await write({ topic: value })).toBe(`[${value}]`);
    }
  });
});

describe("an optional key", () => {
  test.each([{}, { tone: "" }, { tone: "  " }])("uses its default when it is absent or blank: %j", async (given) => {
    const { write } = await prompt("{ tone: { default: calm } }", "[{{ tone }}]");
    expect(await write(given)).toBe("[calm]");
  });

  test("takes the caller's value otherwise", async () => {
    const { write } = await prompt("{ tone: { default: calm } }", "[{{ tone }}]");
    expect(await write({ tone: "loud" })).toBe("[loud]");
  });
});

describe("with allowEmpty", () => {
  test("an empty or blank text is a real value, of a required and of an optional key", async () => {
    const { write } = await prompt(
      "{ must: { allowEmpty: true }, may: { allowEmpty: true, default: white } }",
      "[{{ must }}][{{ may }}]",
    );
    expect(await write({ must: "", may: "" })).toBe("[][]");
    expect(await write({ must: " " })).toBe("[ ][white]");
  });

  test("a required key must still be present", async () => {
    const { create } = await prompt("{ must: { allowEmpty: true } }", "[{{ must }}]");
    expect(errorOf(await create({})).message).toBe('Text input "must" is required.');
  });
});

describe("a select", () => {
  const INPUTS = "{ tone: { options: { Formal: with all due respect, Casual: like friends } } }";

  test("accepts the name of an option and inserts the text behind it", async () => {
    const { write } = await prompt(INPUTS, "[{{ tone }}]");
    expect(await write({ tone: "Casual" })).toBe("[like friends]");
  });

  test.each(["formal", "Formal ", "Formal,Casual", "with all due respect", "constructor"])(
    "refuses %j and lists the names",
    async (tone) => {
      const { create } = await prompt(INPUTS, "[{{ tone }}]");
      const answer = await create({ tone });
      expect(issuesOf(answer)).toEqual([
        {
          path: ["body", "inputs", "textInputs", "tone"],
          code: "invalid_value",
          message: `Text input "tone" must be one of: Formal, Casual. Got "${tone}".`,
        },
      ]);
    },
  );

  describe("of several choices", () => {
    const MULTIPLE = "{ style: { options: { A: first, B: second, C: third }, multiple: { min: 1, max: 2 } } }";

    test("splits at commas, trims, and joins the texts with a comma and a blank in the caller's order", async () => {
      const { write } = await prompt(MULTIPLE, "[{{ style }}]");
      expect(await write({ style: "C ,A" })).toBe("[third, first]");
    });

    test.each(["A,B,C", "A,A", "A,", "D", "A;B"])("refuses %j", async (style) => {
      const { create } = await prompt(MULTIPLE, "[{{ style }}]");
      expect(issueLines(await create({ style }))).toEqual(["invalid_value body.inputs.textInputs.style"]);
    });
  });
});

describe("maxLength", () => {
  test("counts code points, not UTF-16 units", async () => {
    const { create, write } = await prompt("{ short: { maxLength: 4 } }", "[{{ short }}]");
    expect(await write({ short: "🍵🍵🍵🍵" })).toBe("[🍵🍵🍵🍵]");
    const answer = await create({ short: "🍵🍵🍵🍵🍵" });
    expect(issueLines(answer)).toEqual(["too_long body.inputs.textInputs.short"]);
    expect(errorOf(answer).message).toBe('Text input "short" is 5 characters long; the limit is 4.');
  });

  test("also applies to blanks where blanks are values", async () => {
    const { create } = await prompt("{ short: { maxLength: 4, allowEmpty: true } }", "[{{ short }}]");
    expect(issueLines(await create({ short: "     " }))).toEqual(["too_long body.inputs.textInputs.short"]);
  });
});

describe("keys", () => {
  test("are matched after Unicode normalization: a composed and a decomposed letter are the same", async () => {
    const { write } = await prompt("{ caf\u00e9: {} }", '[{{ input["caf\u00e9"] }}]');
    expect(await write({ "cafe\u0301": "noir" })).toBe("[noir]");
  });

  test("that are equal after normalization are a conflict", async () => {
    const { create } = await prompt("{ caf\u00e9: {} }", '[{{ input["caf\u00e9"] }}]');
    const answer = await create({ "cafe\u0301": "noir", "caf\u00e9": "au lait" });
    expect(answer.httpStatus).toBe(422);
    expect(issuesOf(answer)).toMatchObject([{ code: "conflict" }]);
    expect(errorOf(answer).message).toBe(
      'Text input "caf\u00e9" is given twice: two keys are equal after Unicode normalization.',
    );
  });

  test("are own properties only: an inherited name counts as missing, and may be used like any other", async () => {
    const inputs = "{ constructor: {}, toString: { default: none }, hasOwnProperty: { default: none } }";
    const { create, write } = await prompt(
      inputs,
      '{{ input["constructor"] }}|{{ input["toString"] }}|{{ input["hasOwnProperty"] }}',
    );
    expect(errorOf(await create({})).message).toBe('Text input "constructor" is required.');
    expect(await write({ constructor: "mine" })).toBe("mine|none|none");
  });

  test("named __proto__ are 400 before anything reads them", async () => {
    const { promptVersionId } = await server.publish(promptFile());
    const body = `{"promptVersionId":"${promptVersionId}","inputs":{"textInputs":{"__proto__":"x"}}}`;
    expect((await postRun(caller.client, body)).httpStatus).toBe(400);
  });

  test("that the prompt does not know change nothing and are named in X-Ignored, percent-encoded", async () => {
    const { create } = await prompt("{ topic: {} }", "[{{ topic }}]");
    const answer = await create({ topic: "tea", topc: "slip", "r\u00e9sum\u00e9, all": "x" });
    expect(answer.httpStatus).toBe(200);
    expect(answer.headers.get("x-ignored")).toBe("textInputs.topc, textInputs.r%C3%A9sum%C3%A9%2C%20all");
    expect(runOf(answer).outputs[0]?.data).not.toContain("slip");
  });

  test("of a 422 also name what was ignored", async () => {
    const { create } = await prompt("{ topic: {} }", "[{{ topic }}]");
    const answer = await create({ topc: "slip" });
    expect(answer.httpStatus).toBe(422);
    expect(answer.headers.get("x-ignored")).toBe("textInputs.topc");
  });

  test("may contain blanks, slashes, dots, brackets, and other scripts", async () => {
    const key = "お題 / what's [the] topic? - v1.2 & more";
    const { create, write } = await prompt(`{ ${JSON.stringify(key)}: {} }`, `[{{ input[${JSON.stringify(key)}] }}]`);
    expect(await write({ [key]: "tea" })).toBe("[tea]");
    expect(issuesOf(await create({}))[0]?.path).toEqual(["body", "inputs", "textInputs", key]);
  });
});

test("all problems of inputs, images, and options are reported at once", async () => {
  const { promptVersionId } = await server.publish(
    promptFile({ fields: "inputs: { topic: {}, tone: { options: [Formal, Casual] } }", body: "{{ topic }}{{ tone }}" }),
  );
  const answer = await postRun(caller.client, {
    promptVersionId,
    inputs: { textInputs: { tone: "odd" }, imageInputs: [{ type: "url", url: "https://images.example.org/cat.png" }] },
    runOptions: { quality: "low", reasoningEffort: "ultra" },
  });
  expect(answer.httpStatus).toBe(422);
  expect(issueLines(answer)).toEqual([
    "required body.inputs.textInputs.topic",
    "invalid_value body.inputs.textInputs.tone",
    "image_count body.inputs.imageInputs",
    "unsupported_option body.runOptions.quality",
    "unsupported_option_value body.runOptions.reasoningEffort",
  ]);
  expect(errorOf(answer).message).toBe(
    'Text input "topic" is required. Text input "tone" must be one of: Formal, Casual. Got "odd". ' +
      "This prompt expects 0 images, but 1 was given. " +
      '"quality" is not a run option of the model sandbox/text. Accepted: reasoningEffort. ' +
      '"ultra" is not a valid value for reasoningEffort. Accepted: low, medium, high.',
  );
});

test("a prompt without inputs runs with inputs {}", async () => {
  const { promptVersionId } = await server.publish(promptFile());
  expect(runOf(await postRun(caller.client, { promptVersionId, inputs: {} })).runStatus).toBe("succeeded");
  expect(runOf(await postRun(caller.client, bodyOf(promptVersionId))).runStatus).toBe("succeeded");
});
