/** The results of calls: texts, images, videos. */
import { describe, expect, test } from "vitest";
import { createSandboxCaller, failedWith } from "../../../test/support/sandbox-caller.ts";
import { useTestDatabase } from "../../../test/support/test-database.ts";
import type { Database } from "../../platform/database/database.ts";
import type { ModelCallerOptions } from "./call-model.ts";
import { eventually } from "../../../test/support/eventually.ts";

let db: Database;
useTestDatabase((opened) => (db = opened.db));
const openCaller = (change: Partial<ModelCallerOptions> = {}) => createSandboxCaller(db, change);

describe("a text", () => {
  test("with U+0000 and lone surrogates becomes storable", async () => {
    const outcome = await openCaller().call("sandbox: dirty");
    expect(outcome).toMatchObject({ kind: "text" });
    const text = outcome.kind === "text" ? outcome.text : "";
    expect(text.isWellFormed()).toBe(true);
    expect(text).not.toContain("\u0000");
    expect(text).toContain("\ufffd \ufffd \ufeff");
  });

  test("over 2 MiB is cut and flagged", async () => {
    const outcome = await openCaller().call("sandbox: size=3000");
    expect(outcome).toMatchObject({ kind: "text", truncated: true });
    expect(outcome.kind === "text" && outcome.text.length).toBe(2_097_152);
  });

  test("cut by the output limit is a success with a flag", async () => {
    const outcome = await openCaller().call("one two three four five", { maxOutputTokens: 10 });
    expect(outcome).toMatchObject({ kind: "text", truncated: true, usage: { outputTokens: 10 } });
  });

  test("without a token count is estimated and flagged", async () => {
    const outcome = await openCaller().call("sandbox: nousage\n12345678");
    expect(outcome).toMatchObject({ usage: { isEstimated: true, inputTokens: 7 } });
  });
});

describe("an image", () => {
  test("arrives as PNG bytes in the chosen size, counted as one image", async () => {
    const outcome = await openCaller().call("a cat", { model: "sandbox/image", options: { size: "256x256" } });
    expect(outcome).toMatchObject({ kind: "image", mediaType: "image/png", usage: { images: 1 } });
    const bytes = outcome.kind === "image" ? Buffer.from(outcome.bytes) : Buffer.alloc(32);
    expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([256, 256]);
  });

  test("depends on its position in the step, and items fail independently", async () => {
    const { call } = openCaller();
    const image = (item: number) => call("a cat\nsandbox: partial=2", { model: "sandbox/image", item });
    const [first, second, third] = [await image(0), await image(1), await image(2)];
    expect(first).toMatchObject({ kind: "image" });
    expect(second).toMatchObject({ kind: "image" });
    expect(first).not.toEqual(second);
    expect(third).toMatchObject({ kind: "failed" });
  });
});

describe("a video", () => {
  const video = { model: "sandbox/video", options: { seconds: "4" } };

  test("is started, stored, and polled until it is ready", async () => {
    const { call, waits, sends } = openCaller();
    const outcome = await call("a river\nsandbox: delay=0", video);
    expect(outcome).toMatchObject({ kind: "video", mediaType: "video/mp4", usage: { seconds: 4 } });
    expect(waits).toEqual([2_000]);
    const [row] = await sends();
    expect(row).toMatchObject({ call_number: 1, outcome: "video", operation: { v: 1 } });
  });

  test("is polled after 2, 3, 5, 8, and then every 10 seconds", async () => {
    let questions = 0;
    const { call, waits } = openCaller({
      wait: async (ms) => {
        waits.push(ms);
        questions += 1;
        if (questions === 7) throw new Error("enough");
      },
    });
    await expect(call("a river\nsandbox: delay=600000", video)).rejects.toThrow("enough");
    expect(waits).toEqual([2_000, 3_000, 5_000, 8_000, 10_000, 10_000, 10_000]);
  });

  test("that another worker started is polled, not started again", async () => {
    const first = openCaller({ wait: () => Promise.reject(new Error("the worker dies here")) });
    await expect(first.call("a river", video)).rejects.toThrow("dies");
    const { runId } = first;
    const second = openCaller();
    await eventually(async () => {
      const outcome = await second.call("a river", { ...video, runId, attempt: 2 });
      expect(outcome).toMatchObject({ kind: "video" });
    });
    expect(await first.sends()).toHaveLength(1);
  });

  test("whose result was lost with its worker is fetched again, not paid for again", async () => {
    const { call, sends } = openCaller();
    await call("a river\nsandbox: delay=0", video);
    expect(await call("a river\nsandbox: delay=0", { ...video, attempt: 2 })).toMatchObject({ kind: "video" });
    expect(await sends()).toHaveLength(1);
  });

  test("that the provider refuses is declined", async () => {
    expect(await openCaller().call("sandbox: refuse", video)).toEqual(
      failedWith("The model declined this request. Change the inputs."),
    );
  });
});
