/** A rollback: the real program from before the newest migration, on the schema of this one. */
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { openInstallationFixture } from "../support/installation-fixture.ts";
import { checkOut, findCommitBefore } from "../support/older-program.ts";
import { killLeftovers, startPromptd } from "../support/promptd-process.ts";
import { createTestDatabase } from "../support/test-database.ts";

const commit = findCommitBefore();

afterAll(killLeftovers);

describe.skipIf(commit === null)("the program of the commit before the newest migration", () => {
  test("starts on the new schema, and each of the two programs works for the other", async ({ skip }) => {
    const program = checkOut(commit ?? "");
    if (program === null) {
      skip("It needs packages that are not installed.");
      return;
    }
    const database = await createTestDatabase();
    onTestFinished(() => database.drop());
    const fixture = await openInstallationFixture(database.url, { PROMPTD_LOG_LEVEL: "info" });
    onTestFinished(() => fixture.close());
    const caller = await fixture.createCaller();
    const runAt = async (url: string) => {
      const input = { promptVersionId: fixture.prompts.paid, inputs: { textInputs: { ask: "hello" } } };
      return (await caller.clientAt(url).runs.create(input)).runStatus;
    };
    const environment = {
      ...fixture.environment,
      NODE_OPTIONS: "--conditions=promptd-source",
      NODE_DISABLE_COMPILE_CACHE: "1", // its path is different each time
    };

    const newWorker = await fixture.startHere("worker");
    const oldApi = await startPromptd({ role: "api", environment, program });
    expect(oldApi.log.join("\n")).toContain("the database has compatible migrations of a newer promptd");
    expect(await runAt(oldApi.url)).toBe("succeeded");
    await newWorker.close();
    const oldWorker = await startPromptd({ role: "worker", environment, program });
    const newApi = await fixture.startHere("api");
    expect([await runAt(newApi.url), await runAt(oldApi.url)]).toEqual(["succeeded", "succeeded"]);
    expect([await oldApi.stop(), await oldWorker.stop()]).toEqual([
      { code: 0, signal: null },
      { code: 0, signal: null },
    ]);
    expect(await fixture.findFaults()).toEqual([]);
  });
});
