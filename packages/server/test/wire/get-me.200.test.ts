import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../harness.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

describe("GET /v1/me", () => {
  test("answers exactly username, displayName and userFlags", async () => {
    const { client } = await server.createCaller({ username: "ada", displayName: "Ada L." });
    const { httpStatus, envelope } = await client.request({ method: "GET", path: "/v1/me" });
    expect(httpStatus).toBe(200);
    expect(envelope).toEqual({ status: "SUCCESS", data: { username: "ada", displayName: "Ada L.", userFlags: 1 } });
  });
});
