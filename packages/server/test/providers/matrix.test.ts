/**
 * Each interface of each provider with each kind of response: results with and without an input image, their usage, and
 * every kind of failure in the provider's own format. docs/internals/provider-tests.md says what the other tests add.
 */
import { readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ModelResult } from "../../src/models/ai-sdk/model-adapter.ts";
import type { ModelImage } from "../../src/models/providers/jobs.ts";
import type { Database } from "../../src/platform/database/database.ts";
import { createCaller } from "../support/model-caller-fixture.ts";
import { useTestDatabase } from "../support/test-database.ts";
import { callOf, catalogue, IMAGE, isJob } from "./adapter-rig.ts";
import { openAllProviders, type Reply } from "./all-providers.ts";
import { json } from "./own-server.ts";
import { always, INTERFACES, type Interface } from "./provider-interfaces.ts";

/** Well-formed JSON that no interface returns. */
const WRONG: readonly (readonly [string, unknown])[] = [
  ["null", null],
  ["a list", []],
  ["a number", 7],
  ["an empty object", {}],
  ["an object with other members", { hello: "world" }],
];

/** One call from start to result, as the call policy makes it. */
async function make(
  reply: Reply,
  { entry, settings }: Pick<Interface, "entry" | "settings">,
  images: readonly ModelImage[] = [],
): Promise<ModelResult | { kind: "pending" }> {
  const { adapter, signal, pollJob } = await openAllProviders(reply, settings);
  const call = callOf(entry, { images });
  if (!isJob(entry)) return adapter.callModel(call, signal);
  const started = await adapter.startJob(call, signal);
  if (started.kind !== "started") return started;
  return pollJob({ call, operation: started.operation });
}

describe.each(Object.entries(INTERFACES))("%s", (_name, row) => {
  const { withImage, ok, declined, wrong, error, usage } = row;
  const { modality } = row.entry;

  test("arrives with its usage", async () => {
    const text = modality === "text" ? { text: "A short answer.", truncated: false } : {};
    expect(await make(ok, row)).toMatchObject({ kind: modality, usage, ...text });
  });

  test("is requested at the address of its interface", async () => {
    const paths: string[] = [];
    const noted: Reply = (request, response, url) => {
      paths.push(request.path);
      ok(request, response, url);
    };
    await make(noted, row);
    expect(paths[0]).toBe(row.path);
  });

  test.runIf(withImage !== null)("comes for an input image too", async () => {
    expect(await make(ok, { ...row, entry: withImage ?? row.entry }, [IMAGE])).toMatchObject({ kind: modality });
  });

  test("that is rejected with 429 says when to retry", async () => {
    const limited: Reply = (_request, response) => {
      response.setHeader("retry-after", "7");
      json(response, error("slow down"), 429);
    };
    expect(await make(limited, row)).toMatchObject({ cause: "rate_limited", retry: "safe", retryAfterMs: 7_000 });
  });

  test("that gets a 500 may be retried", async () => {
    const result = await make(always(error("boom at /srv/secret"), 500), row);
    expect(result).toMatchObject({ kind: "failed", cause: "overloaded", retry: "safe", breaker: "counted" });
    expect(JSON.stringify(result)).not.toContain("secret");
  });

  test("that is malformed may be retried once if it is text", async () => {
    const malformed: Reply = (_request, response) =>
      response.setHeader("content-type", "application/json").end('{"choices":[{"mess');
    const retry = modality === "text" ? "once" : "never";
    expect(await make(malformed, row)).toMatchObject({ kind: "failed", cause: "protocol", retry, breaker: "counted" });
  });

  /** An unreadable response may be billed: only text is requested again. */
  const failsForGood = expect.objectContaining({
    kind: "failed",
    retry: expect.stringMatching(modality === "text" ? /^(once|never)$/ : /^never$/) as unknown,
  }) as unknown;

  test.each(WRONG)("that is %s is a failure of the provider, and no bug", async (_what, value) => {
    expect(await make(always(value), row)).toEqual(failsForGood);
  });

  test.each(wrong)("with a wrong value in its content is a failure of the provider, and no bug (%#)", async (reply) => {
    expect(await make(reply, row)).toEqual(failsForGood);
  });

  test("whose connection breaks may be retried once if it is text", async () => {
    const disconnected: Reply = (_request, response: ServerResponse) => response.destroy();
    const retry = modality === "text" ? "once" : "never";
    expect(await make(disconnected, row)).toMatchObject({
      kind: "failed",
      cause: "network",
      retry,
      breaker: "counted",
    });
  });

  test("that the provider declines is a refusal, and what was written before is dropped", async () => {
    const result = await make(declined, row);
    expect(result).toMatchObject({ kind: "refused" });
    expect(result).not.toHaveProperty("text");
  });
});

test("docs/internals/provider-tests.md lists every interface of this matrix, and no other", async () => {
  const page = await readFile(join(import.meta.dirname, "../../../../docs/internals/provider-tests.md"), "utf8");
  const listed = Array.from(page.matchAll(/^\| ((?:text|an image|a video) of [^|]+?) \|/gm), ([, name]) => name);
  expect(listed).toEqual(Object.keys(INTERFACES));
});

describe("a provider that never responds", () => {
  let db: Database;
  useTestDatabase((opened) => (db = opened.db));

  test.each(Object.entries(INTERFACES))("%s: ends at the deadline, sent once", async (_name, { entry, settings }) => {
    const { adapter, server } = await openAllProviders(() => {}, settings);
    const { call } = createCaller({
      db,
      adapter,
      catalogue: { ...catalogue, find: () => entry, isEnabled: () => true },
    });
    const outcome = await call({ model: entry.model, prompt: "hello", deadlineMs: performance.now() + 300 });
    expect(outcome).toMatchObject({ kind: "failed", message: "The model did not answer in time. Try again later." });
    expect(server.received.length).toBeLessThanOrEqual(1); // 0: the deadline came before the connection
  });
});
