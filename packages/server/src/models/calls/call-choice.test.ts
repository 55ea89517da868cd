/** Which model is called: the requested one, none while its breaker is open, or its declared fallback. */
import { describe, expect, test } from "vitest";
import { SANDBOX_CATALOGUE } from "../../../test/support/model-caller-fixture.ts";
import {
  createSandboxAdapter,
  createSandboxCaller,
  failedWith,
  type SandboxCaller,
} from "../../../test/support/sandbox-caller.ts";
import { useTestDatabase } from "../../../test/support/test-database.ts";
import type { Database } from "../../platform/database/database.ts";
import type { ModelCallerOptions } from "./call-model.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";

let db: Database;
useTestDatabase((opened) => (db = opened.db));
const openCaller = (change: Partial<ModelCallerOptions> = {}) => createSandboxCaller(db, change);

/** The sandbox under another provider's name: callers may break the sandbox at will, so no breaker guards it. */
function asRealProvider(catalogue = SANDBOX_CATALOGUE): Pick<ModelCallerOptions, "catalogue" | "adapter"> {
  const find = (model: string) => {
    const entry = catalogue.find(model);
    return entry === null ? null : { ...entry, provider: "double" };
  };
  const sandbox = createSandboxAdapter();
  const callModel: typeof sandbox.callModel = (call, signal) =>
    sandbox.callModel({ ...call, entry: { ...call.entry, provider: "sandbox" } }, signal);
  return { catalogue: { ...catalogue, find }, adapter: { ...sandbox, callModel } };
}

describe("a model", () => {
  test("that is not configured here fails without a call", async () => {
    const { call, sends } = openCaller();
    expect(await call("hi", { model: "openai/gpt-5.2" })).toEqual(
      failedWith("The model openai/gpt-5.2 is not enabled on this server."),
    );
    expect(await sends()).toEqual([]);
  });

  test("whose key is rejected is not called again, while other models continue", async () => {
    const { call, sends } = openCaller(asRealProvider());
    await call("sandbox: error=401");
    expect(await call("hi", { step: 1 })).toMatchObject({ kind: "later" });
    expect(await call("hi", { step: 2, model: "sandbox/text-free" })).toMatchObject({ kind: "text" });
    expect(await sends()).toHaveLength(2);
  });

  test("that fails half of ten calls is not called again", async () => {
    const { call } = openCaller({ ...asRealProvider(), random: () => 0 });
    for (let step = 0; step < 5; step += 1) await call("hi", { step });
    await call("sandbox: error=500", { step: 5 });
    expect(await call("sandbox: error=500", { step: 6 })).toMatchObject({ kind: "later" });
  });

  test.each(["error=401", "error=500", "quota", "error=429"])(
    "of the sandbox that a caller makes fail with %s stays open to everybody else",
    async (directive) => {
      const { call } = openCaller({ random: () => 0 });
      for (let step = 0; step < 12; step += 1) await call(`sandbox: ${directive}`, { step });
      expect(await call("hi", { step: 12 })).toMatchObject({ kind: "text" });
    },
  );
});

describe("an author's fallbacks", () => {
  const modelsOf = async (sends: SandboxCaller["sends"]) => (await sends()).map((row) => row.model);
  const fallback = ["sandbox/text-free"];

  test("replace a model that is not enabled, which is never called", async () => {
    const { call, sends } = openCaller();
    expect(await call("hi", { model: "openai/gpt-5.2", fallback })).toMatchObject({ model: "sandbox/text-free" });
    expect(await modelsOf(sends)).toEqual(["sandbox/text-free"]);
  });

  test.each(["error=404", "error=401", "quota", "error=413"])(
    "are called at once for requests that the model will never answer: %s",
    async (failure) => {
      const { call, sends } = openCaller(asRealProvider());
      expect(
        await call(`hi\nsandbox: ${failure} flaky=1`.replace("quota flaky=1", "quota"), { fallback }),
      ).toMatchObject(failure === "quota" ? { kind: "failed" } : { kind: "text", model: "sandbox/text-free" });
      expect((await modelsOf(sends)).slice(0, 2)).toEqual(["sandbox/text", "sandbox/text-free"]);
    },
  );

  test("get the last of three attempts after temporary failures", async () => {
    const { call, sends } = openCaller();
    expect(await call("hi\nsandbox: flaky=2", { fallback })).toMatchObject({ model: "sandbox/text-free" });
    expect(await modelsOf(sends)).toEqual(["sandbox/text", "sandbox/text", "sandbox/text-free"]);
  });

  test("are not called for requests that the model declined", async () => {
    const { call, sends } = openCaller();
    expect(await call("sandbox: refuse", { fallback })).toMatchObject({ kind: "failed" });
    expect(await modelsOf(sends)).toEqual(["sandbox/text"]);
  });
});

describe("a declared fallback", () => {
  const withFallback = (): Catalogue => {
    const entry = SANDBOX_CATALOGUE.find("sandbox/text");
    if (entry === null) throw new Error("the sandbox is missing");
    const find = (model: string) =>
      model === entry.model ? { ...entry, fallback: "sandbox/text-free" } : SANDBOX_CATALOGUE.find(model);
    return { ...SANDBOX_CATALOGUE, find };
  };
  const modelsOf = async (sends: SandboxCaller["sends"]) => (await sends()).map((row) => row.model);

  test("gets the last of three calls when the model fails twice", async () => {
    const { call, sends } = openCaller({ catalogue: withFallback() });
    const outcome = await call("hi\nsandbox: flaky=2");
    expect(outcome.kind === "text" && outcome.text).toContain("model: sandbox/text-free");
    expect(await modelsOf(sends)).toEqual(["sandbox/text", "sandbox/text", "sandbox/text-free"]);
  });

  test("gets no call that it cannot answer, such as JSON with a web search", async () => {
    const webSearch = { searchesMax: 1, pricePerSearch: "1", inputTokens: 1 };
    const catalogue = withFallback();
    const find: Catalogue["find"] = (model) => {
      const entry = catalogue.find(model);
      return entry?.model === "sandbox/text-free" ? { ...entry, webSearch } : entry;
    };
    const { call, sends } = openCaller({ catalogue: { ...catalogue, find } });
    const asked = { webSearch: { sources: false }, outputSchema: { type: "object" } };
    await call("hi\nsandbox: flaky=2", asked);
    expect(await modelsOf(sends)).toEqual(["sandbox/text", "sandbox/text", "sandbox/text"]);
  });

  test("is called at once when the model's key is rejected or its breaker is open", async () => {
    const { call, sends } = openCaller(asRealProvider(withFallback()));
    expect(await call("hi\nsandbox: flaky=1 error=401")).toMatchObject({ kind: "text" });
    expect(await call("hi", { step: 1 })).toMatchObject({ kind: "text" });
    const [first, second, third] = await modelsOf(sends);
    expect([first, second, third].filter((model) => model === "sandbox/text-free")).toHaveLength(2);
  });

  test("is not called for requests that the first model declined or could not accept", async () => {
    const { call, sends } = openCaller({ catalogue: withFallback() });
    expect(await call("sandbox: refuse")).toMatchObject({ kind: "failed" });
    expect(await call("sandbox: error=400", { step: 1 })).toMatchObject({ kind: "failed" });
    expect(await modelsOf(sends)).toEqual(["sandbox/text", "sandbox/text"]);
  });
});
