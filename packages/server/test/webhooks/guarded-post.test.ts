/** Where events may go: the guards of the request, on a network that the test makes. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createGuardedPost } from "../../src/files/fetch/guarded-post.ts";
import { startImageHost, type ImageHost } from "../files/image-host.ts";

const never = new AbortController().signal;
const CONTENT = { headers: { "content-type": "application/json" }, body: '{"a":1}' };

let host: ImageHost;
beforeAll(async () => {
  host = await startImageHost();
});
afterAll(() => host.close());

const post = (address: string, totalMs?: number) =>
  createGuardedPost({
    allowsPrivate: false,
    network: host.network,
    trusted: host.cert,
    ...(totalMs === undefined ? {} : { totalMs }),
  }).post(address, CONTENT, never);

describe("without the setting", () => {
  test.each(["https://127.0.0.1/", "https://[::ffff:127.0.0.1]/", "https://0x7f000001/", "http://example.org/"])(
    "nothing is sent to %s, and no connection is made",
    async (address) => {
      host.attempts.length = 0;
      expect(await post(address)).toEqual({ kind: "refused", fault: "address" });
      expect(host.attempts).toEqual([]);
    },
  );

  test("a name that leads to a private address, or to none, is refused with the same message", async () => {
    host.attempts.length = 0;
    host.names.set("inside.example.org", ["10.0.0.1"]);
    host.names.set("nowhere.example.org", []);
    host.names.set("mixed.example.org", ["93.184.216.34", "192.168.0.1"]);
    for (const name of ["inside.example.org", "mixed.example.org", "nowhere.example.org"]) {
      expect(await post(`https://${name}/`)).toEqual({ kind: "refused", fault: "address" });
    }
    expect(host.attempts).toEqual([]);
  });

  test("a redirect is a response like any other, and is not followed", async () => {
    host.requests.length = 0;
    host.routes.set("/away", (_request, response) => response.writeHead(302, { location: "https://127.0.0.1/" }).end());
    expect(await post(`https://images.example.org/away`)).toEqual({ kind: "answered", statusCode: 302 });
    expect(host.requests).toHaveLength(1);
  });

  test("a receiver that never responds is given up in time", async () => {
    host.routes.set("/never", () => {});
    expect(await post(`https://images.example.org/never`, 300)).toEqual({ kind: "refused", fault: "timeout" });
  });

  test("a body that never ends changes nothing: only the status counts", async () => {
    host.routes.set("/drip", (_request, response) => void response.writeHead(200).write("x"));
    let outcome = null;
    // On a busy machine the status alone may take longer than the first of these limits.
    for (const totalMs of [300, 3_000, 20_000]) {
      outcome = await post(`https://images.example.org/drip`, totalMs);
      if (outcome.kind === "answered") break;
    }
    expect(outcome).toEqual({ kind: "answered", statusCode: 200 });
  });
});

test.each([true, false])("an address with invisible characters is invalid (private addresses: %s)", (allowsPrivate) => {
  const poster = createGuardedPost({ allowsPrivate });
  for (const seen of ["\r\nx", " ", "\t", "\u202e"]) {
    expect(poster.faultOf(`https://example.org/${seen}`)).toBe("url is not a valid address.");
  }
  expect(poster.faultOf("https://example.org/")).toBeNull();
});

describe("with the setting", () => {
  test("this machine may be an address, over http, and gets the body exactly as it was signed", async () => {
    const bodies: string[] = [];
    const server = createServer((request, response) => {
      request.setEncoding("utf8").on("data", (text: string) => bodies.push(text));
      request.on("end", () => response.writeHead(201).end("y".repeat(1_000_000)));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const poster = createGuardedPost({ allowsPrivate: true });
    const address = `http://127.0.0.1:${port}/`;
    expect([poster.faultOf(address), poster.faultOf("file:///etc/passwd")]).toEqual([
      null,
      "url must be an http:// or https:// address.",
    ]);
    expect(await poster.post(address, CONTENT, never)).toEqual({ kind: "answered", statusCode: 201 });
    expect(bodies).toEqual([CONTENT.body]);
    server.close();
    await once(server, "close");
    expect(await poster.post(address, CONTENT, never)).toEqual({ kind: "refused", fault: "connection" });
  });
});
