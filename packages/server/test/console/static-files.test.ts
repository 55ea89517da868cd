import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, brotliDecompressSync } from "node:zlib";
import { request } from "node:http";
import { once } from "node:events";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../support/test-server.ts";

const PAGE = "<!doctype html><title>promptd</title>";
const SCRIPT = "console.log('a script that is worth compressing');".repeat(20);

let directory: string;
let server: TestServer;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "promptd-console-"));
  await mkdir(join(directory, "assets"));
  await writeFile(join(directory, "index.html"), PAGE);
  await writeFile(join(directory, "assets/index-Ab12.js"), SCRIPT);
  await writeFile(join(directory, "assets/index-Ab12.js.br"), brotliCompressSync(SCRIPT));
  server = await startTestServer({ consoleDirectory: directory });
});
afterAll(async () => {
  await server.close();
  await rm(directory, { recursive: true, force: true });
});

const codeOf = async (answer: Response) => ((await answer.json()) as { status: string }).status;
const open = (path: string, init?: RequestInit) => fetch(`${server.url}${path}`, init);

describe("the pages of the console", () => {
  test.each(["/", "/runs/019a1f88-0c1d-7a52-b7e4-2f90c6d1a3b5?tab=curl", "/no/such/page"])(
    "are the application at %s, and are not cached",
    async (path) => {
      const answer = await open(path);
      expect([answer.status, await answer.text()]).toEqual([200, PAGE]);
      expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(answer.headers.get("cache-control")).toBe("no-cache");
    },
  );

  test("run no inline script, load only from this server, and cannot be framed", async () => {
    const policy = (await open("/")).headers.get("content-security-policy") ?? "";
    const rules = Object.fromEntries(policy.split("; ").map((rule) => rule.split(/ (.*)/s)));
    expect(rules).toEqual({
      "default-src": "'self'",
      "img-src": `'self' blob: ${server.url}`,
      "media-src": `'self' blob: ${server.url}`,
      "base-uri": "'none'",
      "form-action": "'self'",
      "frame-ancestors": "'none'",
      "object-src": "'none'",
    });
  });

  test("are not sent again while they are unchanged", async () => {
    const etag = (await open("/")).headers.get("etag") ?? "";
    const answer = await open("/", { headers: { "if-none-match": etag } });
    expect([answer.status, await answer.text()]).toEqual([304, ""]);
  });

  test("answer HEAD with headers only", async () => {
    const answer = await open("/", { method: "HEAD" });
    expect([answer.status, answer.headers.get("content-length")]).toEqual([200, String(PAGE.length)]);
  });
});

describe("the files of the console", () => {
  test("are cached permanently, because their names contain their hash", async () => {
    const answer = await open("/assets/index-Ab12.js");
    expect(answer.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(answer.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(await answer.text()).toBe(SCRIPT);
  });

  test("are sent as the build compressed them to clients that accept that, and uncompressed to others", async () => {
    const sent = request(`${server.url}/assets/index-Ab12.js`, { headers: { "accept-encoding": "gzip, br" } }).end();
    const [answer] = await once(sent, "response");
    const bytes = await buffer(answer);
    expect(answer.headers["content-encoding"]).toBe("br");
    expect(bytes.length).toBeLessThan(SCRIPT.length / 2);
    expect(brotliDecompressSync(bytes).toString()).toBe(SCRIPT);
    const plain = await open("/assets/index-Ab12.js", { headers: { "accept-encoding": "gzip" } });
    expect(plain.headers.get("content-encoding")).toBeNull();
  });

  test("have one weak ETag in both forms, because a strong one would promise the same bytes", async () => {
    const path = "/assets/index-Ab12.js";
    const [plain, small] = await Promise.all(
      ["identity", "br"].map((accepted) => open(path, { headers: { "accept-encoding": accepted } })),
    );
    const etag = plain?.headers.get("etag") ?? "";
    expect(etag).toMatch(/^W\/"[\w-]{22}"$/);
    expect(small?.headers.get("etag")).toBe(etag);
    for (const answer of [plain, small]) expect(answer?.headers.get("vary")).toContain("Accept-Encoding");
  });

  test.each(["W/TAG", "TAG", '"other", W/TAG', "*"])("are not sent again for If-None-Match: %s", async (form) => {
    const tag = (await open("/assets/index-Ab12.js")).headers.get("etag")?.replace("W/", "") ?? "";
    const answer = await open("/assets/index-Ab12.js", { headers: { "if-none-match": form.replace("TAG", tag) } });
    expect([answer.status, await answer.text()]).toEqual([304, ""]);
    expect(answer.headers.get("vary")).toContain("Accept-Encoding");
  });

  test("of another version are missing, and are not pages", async () => {
    const answer = await open("/assets/index-Zz99.js");
    expect([answer.status, await codeOf(answer)]).toEqual([404, "NOT_FOUND_ERROR"]);
  });
});

describe("beside the APIs", () => {
  test.each([
    ["/v1/no-such-thing", 401],
    ["/v2/runs", 404],
    ["/manage/v1/no-such-thing", 401],
    ["/manage/no-such-thing", 404],
    ["/%76%31/no-such-thing", 401],
    ["//v1/no-such-thing", 401],
    ["/files/no-such-file", 404],
  ])("a path unknown to an API is answered in its envelope: %s", async (path, status) => {
    const answer = await open(path);
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ status: expect.stringMatching(/_ERROR$/) });
  });

  test("the public endpoints are still at their paths", async () => {
    expect(await (await open("/healthz")).json()).toMatchObject({ status: "SUCCESS" });
    expect(await (await open("/openapi.json")).json()).toMatchObject({ openapi: "3.1.0" });
  });

  test("a write to a page is refused in the envelope", async () => {
    const answer = await open("/runs", { method: "POST", body: "{}" });
    expect([answer.status, answer.headers.get("allow")]).toEqual([404, "GET, HEAD, OPTIONS"]);
  });
});

test("a server without a built console answers its pages with the envelope", async () => {
  const bare = await startTestServer({ consoleDirectory: join(directory, "not-built") });
  try {
    const answer = await fetch(`${bare.url}/`);
    expect([answer.status, await codeOf(answer)]).toEqual([404, "NOT_FOUND_ERROR"]);
  } finally {
    await bare.close();
  }
});
