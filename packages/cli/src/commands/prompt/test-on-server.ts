import type { ManageClient } from "@promptd/client/manage";
import type { PromptTestCase, TestRunResult } from "@promptd/contract/manage";
import type { PromptFile, TestedPrompt, TrialResult } from "@promptd/server/authoring";
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { CommandFailure, type CommandIo } from "../../command.ts";
import { printableLine } from "../../printable.ts";
import { pushFile } from "./push.ts";

export interface TestedFile extends TestedPrompt {
  readonly file: string;
}

/** The poll interval for a run that has not ended within the server's own wait. */
const POLL_MS = 1_000;

/** Saves a file as a draft and runs its samples and tests on the server, as the author's own runs. */
export async function testOnServer(manage: ManageClient, file: PromptFile, io: CommandIo): Promise<TestedFile> {
  const { checked, ...draft } = await pushFile(manage, file, { io, isForced: false, writesId: false });
  if (checked === null) throw new CommandFailure(`${file.name} has errors and cannot be run. Its draft is saved.`);
  const results: TrialResult[] = [];
  for (const test of checked.tests) {
    if (test.images === 0) results.push(await runTest(manage, { ...draft, test, io }));
    else io.note(`${printableLine(test.name)} needs images, which work only with --here.`);
  }
  return { title: checked.title, model: checked.config.model, file: file.name, results };
}

interface Trial {
  readonly promptId: string;
  readonly revision: number;
  readonly test: PromptTestCase;
  readonly io: CommandIo;
}

async function runTest(manage: ManageClient, { promptId, revision, test, io }: Trial): Promise<TrialResult> {
  const { signal } = io;
  const headers = { prefer: "respond-async, wait=30", "idempotency-key": randomUUID() };
  const body = { revision, test: test.name };
  const { runId } = await manage.send("createTestRun", {
    params: { promptId },
    body,
    headers,
    signal,
    timeoutMs: 60_000,
  });
  let result: TestRunResult;
  for (;;) {
    result = await manage.send("getTestRun", { params: { promptId, runId }, query: { test: test.name }, signal });
    if (result.run.runStatus === "succeeded" || result.run.runStatus === "failed") break;
    await delay(POLL_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
  for (const kind of result.test?.unchecked ?? [])
    io.note(`${printableLine(test.name)}: "${kind}" is checked only with --here.`);
  const errors = result.run.outputs.filter(({ type }) => type === "error").map(({ data }) => data);
  const texts = result.run.outputs.filter(({ type }) => type === "text").map(({ data }) => data);
  const failures = [...errors, ...(result.test?.failures ?? [])];
  const passed = result.run.runStatus === "succeeded" && result.test?.passed !== false;
  return { name: test.name, passed, failures, output: texts.at(-1) ?? null };
}
