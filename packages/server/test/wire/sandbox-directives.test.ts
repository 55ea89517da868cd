/** Who steers the sandbox: the author of a prompt, and a caller only where the operator says so. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { directedPrompt, promptFile, textPrompt } from "../prompts/prompt-files.ts";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { bodyOf } from "./requests.ts";

let server: TestServer;
let caller: TestCaller;
beforeAll(async () => {
  server = await startTestServer({ environment: { PROMPTD_SANDBOX_DIRECTIVES: "authors" } });
  caller = await server.createCaller();
});
afterAll(() => server.close());

const REFUSED = "sandbox: refuse";
const run = async (prompt: string, textInputs: Record<string, string> = {}) => {
  const { promptVersionId } = await server.publish(prompt);
  return caller.client.runs.create(bodyOf(promptVersionId, textInputs));
};

describe("by default", () => {
  test("a directive in a caller's input is ordinary text", async () => {
    const { runStatus, outputs } = await run(textPrompt({ body: "About:\n{{ topic }}" }), { topic: REFUSED });
    expect(runStatus).toBe("succeeded");
    expect(outputs[0]?.data).toContain(`About:\n${REFUSED}`);
  });

  test("neither do a caller's words after the author's, nor pieces that add up to a directive", async () => {
    expect((await run(directedPrompt(), { do: "refuse" })).runStatus).toBe("succeeded");
    const pieces = promptFile({ fields: "inputs: { a: {}, b: {} }", body: "{{ a }}{{ b }}\nAnything." });
    expect((await run(pieces, { a: "sand", b: "box: refuse" })).runStatus).toBe("succeeded");
  });

  test("what the sandbox answered in one step does not control a later step", async () => {
    const steps = promptFile({
      fields: "inputs: { a: {} }\nsteps:\n  one: {}\n  two: {}",
      body: "<!-- step: one -->\nFirst.\n{{ a }}\n<!-- step: two -->\nThen:\n{{ steps.one }}",
    });
    const { outputs } = await run(steps, { a: REFUSED });
    expect(outputs.map(({ type }) => type)).toEqual(["text", "text"]);
  });

  test("the author's own lines are obeyed, those behind a choice as well", async () => {
    expect((await run(promptFile({ body: `${REFUSED}\nSay something.` }))).runStatus).toBe("failed");
    const fields = `inputs: { mood: { options: { calm: slow, none: "${REFUSED}" } } }`;
    const choice = promptFile({ fields, body: "Answer.\n{{ mood }}" });
    expect((await run(choice, { mood: "calm" })).runStatus).toBe("succeeded");
    expect((await run(choice, { mood: "none" })).runStatus).toBe("failed");
  });
});

test("with PROMPTD_SANDBOX_DIRECTIVES=callers a caller's directives are obeyed", async () => {
  const own = await startTestServer({ environment: { PROMPTD_SANDBOX_DIRECTIVES: "callers" } });
  try {
    const { client } = await own.createCaller();
    const { promptVersionId } = await own.publish(textPrompt({ body: "About:\n{{ topic }}" }));
    expect((await client.runs.create(bodyOf(promptVersionId, { topic: REFUSED }))).runStatus).toBe("failed");
  } finally {
    await own.close();
  }
});
