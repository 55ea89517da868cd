/** Requests as the tests of the wire send them, and what they read out of the answers. */
import type { Client, RawAnswer } from "@promptd/client";
import type { CreateRunBody, ErrorEnvelope, Issue, Page, Run, RunListRow } from "@promptd/contract";

/** An id of no run, prompt or version. */
export const RANDOM_ID = "3f2b8c1e-7a54-4d1b-9f0a-6c2e5d7b8a90";

type HeaderFields = Readonly<Record<string, string | null>>;

export function get(client: Client, path: string, headers: HeaderFields = {}): Promise<RawAnswer> {
  return client.request({ method: "GET", path, headers });
}

/** `body` as it is: tests send what the contract's types would not let through. */
export function postRun(client: Client, body: unknown, headers: HeaderFields = {}): Promise<RawAnswer> {
  return client.request({ method: "POST", path: "/v1/runs", body, headers });
}

export function cancelRun(client: Client, runId: string): Promise<RawAnswer> {
  return client.request({ method: "POST", path: `/v1/runs/${runId}/cancel` });
}

/** Creates a run without waiting for it. */
export async function startRun(client: Client, body: CreateRunBody): Promise<string> {
  const { runId } = await client.runs.create(body, { respondAsync: true, idempotencyKey: null });
  return runId;
}

export function bodyOf(promptVersionId: string, textInputs: Readonly<Record<string, string>> = {}): CreateRunBody {
  return { promptVersionId, inputs: { textInputs } };
}

export function dataOf(answer: RawAnswer): unknown {
  if (answer.envelope?.status === "SUCCESS") return answer.envelope.data;
  throw new Error(`Not a success: HTTP ${answer.httpStatus} ${answer.text}`);
}

export function runOf(answer: RawAnswer): Run {
  return dataOf(answer) as Run; // its form is checked by the server under test and by the audited fetch
}

export function listOf(answer: RawAnswer): Page<RunListRow> {
  return dataOf(answer) as Page<RunListRow>;
}

export function errorOf(answer: RawAnswer): ErrorEnvelope {
  const { envelope } = answer;
  if (envelope !== null && envelope.status !== "SUCCESS") return envelope;
  throw new Error(`Not an error: HTTP ${answer.httpStatus} ${answer.text}`);
}

export function issuesOf(answer: RawAnswer): readonly Issue[] {
  const { status, data } = errorOf(answer);
  if (status !== "VALIDATION_ERROR") throw new Error(`Not a 422: ${answer.text}`);
  return (data as { issues: Issue[] }).issues;
}

/** `code path`, one per issue: `required body.inputs`. */
export function issueLines(answer: RawAnswer): string[] {
  return issuesOf(answer).map(({ code, path }) => `${code} ${path.join(".")}`);
}

/** Headers that differ from one answer to the next whatever was asked. */
const OWN_HEADERS = ["x-request-id", "date", "ratelimit", "content-length"];

/** Everything of an answer but the id that was asked for and what differs by nature. */
export function withoutId(answer: RawAnswer, id: string) {
  const headers = [...answer.headers].filter(([name]) => !OWN_HEADERS.includes(name));
  return { httpStatus: answer.httpStatus, text: answer.text.replaceAll(id, "<id>"), headers };
}
