/** What pages read is compressed if that helps, and nothing else is. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { request } from "node:http";
import { brotliDecompressSync } from "node:zlib";
import { createTestPerson, type TestPerson } from "../people/people-fixture.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";

let server: TestServer;
let ada: TestPerson;
beforeAll(async () => {
  server = await startTestServer();
  ada = await createTestPerson(server, {});
  for (let index = 0; index < 12; index += 1) await server.publish(promptOf(index));
});
afterAll(() => server.close());

const promptOf = (index: number) => `---
promptd: 1
title: Letter number ${index}
description: A letter about the same thing as all of the others, with other words.
model: sandbox/text
inputs: { topic: { label: Topic } }
---
Write about {{ topic }}.
`;

interface Answer {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
}

/** Requests like a browser, because Node's own fetch would decompress. */
function get(path: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(`${server.url}${path}`, { headers }, (answer) => {
      const pieces: Buffer[] = [];
      answer.on("data", (piece: Buffer) => pieces.push(piece));
      answer.on("end", () =>
        resolve({ status: answer.statusCode, headers: answer.headers, bytes: Buffer.concat(pieces) }),
      );
    });
    sent.once("error", reject).end();
  });
}

/** Shorter responses are not compressed. */
const ONE_PACKET_BYTES = 1_400;
const MARKETPLACE = "/manage/v1/marketplace?limit=12";

describe("a page that reads a list", () => {
  test("gets it compressed if it accepts Brotli, with the same content", async () => {
    const plain = await get(MARKETPLACE, { cookie: ada.cookie });
    const small = await get(MARKETPLACE, { cookie: ada.cookie, "accept-encoding": "gzip, deflate, br, zstd" });
    expect(plain.headers["content-encoding"]).toBeUndefined();
    expect(small.headers).toMatchObject({
      "content-encoding": "br",
      "content-length": String(small.bytes.length),
      vary: "Origin, Accept-Encoding",
    });
    expect(brotliDecompressSync(small.bytes).toString()).toBe(plain.bytes.toString());
    expect(small.bytes.length).toBeLessThan(plain.bytes.length / 4);
  });

  test.each(["gzip", "br;q=0", "identity", "*;q=0"])("gets it uncompressed if it accepts %s", async (accepted) => {
    const { headers } = await get(MARKETPLACE, { cookie: ada.cookie, "accept-encoding": accepted });
    expect(headers["content-encoding"]).toBeUndefined();
  });

  test("gets a response that fits into one packet uncompressed", async () => {
    const { headers } = await get("/manage/v1/session", { cookie: ada.cookie, "accept-encoding": "br" });
    expect(headers["content-encoding"]).toBeUndefined();
  });

  test("gets refusals uncompressed, and so are all answers of /v1", async () => {
    const { apiKey } = await server.createCaller();
    const refused = await get(MARKETPLACE, { "accept-encoding": "br" });
    const v1 = await get("/v1/prompts/publish?q=letter", {
      authorization: `Bearer ${apiKey}`,
      "accept-encoding": "br",
    });
    expect([refused, v1].map(({ status }) => status)).toEqual([401, 200]);
    expect(v1.bytes.length).toBeGreaterThan(ONE_PACKET_BYTES);
    expect([refused, v1].map(({ headers }) => headers["content-encoding"])).toEqual([undefined, undefined]);
  });
});
