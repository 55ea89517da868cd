/**
 * Requests that arrive after the server has begun to stop: their first bytes had arrived, so each gets its response.
 */
import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { startTestServer } from "../support/test-server.ts";

const ECHO = "---\npromptd: 1\ntitle: Echo\nmodel: sandbox/text-free\ninputs: { ask: {} }\n---\n{{ ask }}\n";

test("a GET, a long-poll, and a POST are answered at once with the run's current state, and their connections are closed", async () => {
  // No worker: the run never ends, and a waiting request would wait a minute, beyond this test's time limit.
  const server = await startTestServer({ role: "api", environment: { PROMPTD_SYNC_WAIT_MS: "60000" } });
  const { promptVersionId } = await server.publish(ECHO);
  const caller = await server.createCaller();
  const body = { promptVersionId, inputs: { textInputs: { ask: "x" } } };
  const { runId } = await caller.client.runs.create(body, { respondAsync: true });
  const { hostname, port } = new URL(server.url);

  /**
   * Sends all of a request except its last line ending. @returns a function that sends the rest and reads the response.
   */
  async function begin(lines: readonly string[], content = "") {
    const socket = connect({ host: hostname, port: Number(port) });
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    const head = [...lines, "Host: x", `Authorization: Bearer ${caller.apiKey}`].join("\r\n");
    await new Promise((resolve) => socket.write(head, resolve));
    return async () => {
      socket.write(`\r\n\r\n${content}`);
      await once(socket, "end");
      const [top = "", sent = ""] = text.split("\r\n\r\n");
      return { top, envelope: JSON.parse(sent) as unknown };
    };
  }

  const json = JSON.stringify(body);
  const plain = await begin([`GET /v1/runs/${runId} HTTP/1.1`]);
  const longPoll = await begin([`GET /v1/runs/${runId} HTTP/1.1`, "Prefer: wait=60"]);
  const create = await begin(["POST /v1/runs HTTP/1.1", `Content-Length: ${json.length}`], json);
  await fetch(`${server.url}/healthz`); // handled after them by the server, so their first bytes have been read
  const closing = server.app.close();
  const answers = await Promise.all([plain(), longPoll(), create()]);
  const view = { status: "SUCCESS", data: { runId, outputs: [], runStatus: "queued", tokens: 0 } };
  expect(answers.map(({ top }) => top.split("\r\n")[0])).toEqual([
    "HTTP/1.1 200 OK",
    "HTTP/1.1 200 OK",
    "HTTP/1.1 504 Gateway Timeout",
  ]);
  expect([answers[0].envelope, answers[1].envelope]).toEqual([view, view]);
  expect(answers[2].envelope).toMatchObject({
    status: "GATEWAY_TIMEOUT_ERROR",
    data: { runId: expect.not.stringMatching(runId) },
  });
  for (const { top } of answers) expect(top).toMatch(/^connection: close$/im);
  await closing;
  await server.close();
});
