/**
 * A request whose handler fails at any of its points: an envelope that does not reveal the cause, and a run that exists
 * completely or not at all.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { enableFaults, type FaultPoint } from "../../src/platform/fault-injection.ts";
import { createLog } from "../../src/platform/log.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { findFaults } from "../support/installation-fixture.ts";
import { until } from "../support/promptd-process.ts";
import { errorOf, get, postRun, runOf } from "../wire/requests.ts";

const ECHO = "---\npromptd: 1\ntitle: Echo\nmodel: sandbox/text\ninputs: { ask: {} }\n---\n{{ ask }}\n";
const PHOTO =
  "---\npromptd: 1\ntitle: Photo\nmodel: sandbox/image\ninputs: { ask: {} }\nimages: [{ label: Photo, description: Any }]\noptions: { size: 256x256 }\n---\n{{ ask }}\n";
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

let server: TestServer;
let versions: Record<"echo" | "photo", string>;
beforeAll(async () => {
  server = await startTestServer({ log: createLog("silent") });
  const [echo, photo] = [await server.publish(ECHO), await server.publish(PHOTO)];
  versions = { echo: echo.promptVersionId, photo: photo.promptVersionId };
});
afterEach(() => enableFaults(""));
afterAll(() => server.close());

const BODIES = {
  echo: () => ({ promptVersionId: versions.echo, inputs: { textInputs: { ask: "hello" } } }),
  photo: () => ({
    promptVersionId: versions.photo,
    inputs: { textInputs: { ask: "hello" }, imageInputs: [{ type: "base64", base64: PIXEL }] },
  }),
};

/** The points of a create, the body that passes each, and whether the run exists when the point fails. */
const POINTS: [FaultPoint, keyof typeof BODIES, number][] = [
  ["create.blob_stored", "photo", 0],
  ["create.before_commit", "echo", 0],
  ["create.after_commit", "echo", 1],
  ["wait.registered", "echo", 1],
  ["wait.before_reply", "echo", 1],
  ["create.before_reply", "echo", 1],
];

describe("a create whose handler throws", () => {
  test.each(POINTS)(
    "at %s is a 500 that does not reveal the cause, and the same key leads to one run",
    async (...row) => {
      const [point, kind, left] = row;
      const { client, accountId } = await server.createCaller();
      const runs = () => server.app.db.query("select 1 from runs where account_id = $1", [accountId]);
      const post = () => postRun(client, BODIES[kind](), { "idempotency-key": "the-key" });

      enableFaults(`${point}:throw@1`);
      const answer = await post();
      expect(answer.httpStatus).toBe(500);
      const requestId = answer.headers.get("x-request-id");
      expect(errorOf(answer)).toEqual({
        status: "SERVER_ERROR",
        message: `Internal error. If it persists, report request id ${requestId}.`,
        data: null,
      });
      expect(await runs()).toHaveLength(left);

      expect((await get(client, "/v1/me")).httpStatus).toBe(200);
      expect(runOf(await post()).runStatus).toBe("succeeded");
      expect(await runs()).toHaveLength(1);
      await until(async () => (await server.app.db.query("select 1 from runs where finished_at is null")).length === 0);
      expect(await findFaults(server.app.db)).toEqual([]);
    },
  );
});
