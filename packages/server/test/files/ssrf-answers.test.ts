/** Hosts that redirect, flood, trickle, break off, or lie: every fetch ends with a bounded value. */
import { describe, expect, test } from "vitest";
import { createGuardedFetch } from "../../src/files/index.ts";
import { BYTES_MAX, fetchFrom, redirectTo, useGuardedFetch } from "./guarded-fetch-fixture.ts";
import { createTestCertificate } from "../support/test-certificate.ts";

const rig = useGuardedFetch();

describe("redirects", () => {
  const chain = (length: number) => {
    for (let step = 0; step < length; step += 1) {
      rig.host.routes.set(`/${step}`, (_request, response) =>
        response.writeHead(302, { location: `/${step + 1}` }).end(),
      );
    }
    rig.host.routes.set(`/${length}`, (_request, response) => response.writeHead(200).end(rig.png));
  };

  test("three redirects are followed", async () => {
    chain(3);
    expect(await fetchFrom(rig, "https://images.example.org/0")).toEqual({ kind: "fetched", content: rig.png });
    expect(rig.host.questions).toHaveLength(4); // every hop is resolved and checked again
  });

  test("a fourth redirect is refused", async () => {
    chain(4);
    expect(await fetchFrom(rig, "https://images.example.org/0")).toMatchObject({ kind: "refused", fault: "redirect" });
    expect(rig.host.requests).toEqual(["/0", "/1", "/2", "/3"]);
  });

  test("a loop is refused", async () => {
    redirectTo(rig, "/away");
    expect(await fetchFrom(rig, "https://images.example.org/away")).toMatchObject({
      kind: "refused",
      fault: "redirect",
    });
  });

  test.each([
    ["plain http", "http://images.example.org/cat.png"],
    ["user information", "https://user:secret@images.example.org/cat.png"],
    ["another port", "https://images.example.org:8443/cat.png"],
    ["a file", "file:///etc/passwd"],
    ["data", "data:image/png;base64,iVBORw0KGgo="],
    ["another scheme", "gopher://images.example.org/"],
  ])("a redirect to %s is refused", async (_name, location) => {
    redirectTo(rig, location);
    expect(await fetchFrom(rig, "https://images.example.org/away")).toMatchObject({
      kind: "refused",
      fault: "blocked",
    });
    expect(rig.host.requests).toEqual(["/away"]);
  });

  test.each([301, 302, 303, 307, 308])("%i without a usable location is refused", async (status) => {
    rig.host.routes.set("/nowhere", (_request, response) => response.writeHead(status).end());
    expect(await fetchFrom(rig, "https://images.example.org/nowhere")).toMatchObject({
      kind: "refused",
      fault: "redirect",
    });
  });
});

describe("hostile responses", () => {
  const shortTimes = { connectMs: 400, headersMs: 400, totalMs: 600 };

  test("an endless body is cut at the limit", async () => {
    let poured = 0;
    rig.host.routes.set("/endless", (_request, response) => {
      response.writeHead(200);
      const pour = () => {
        let isFlowing = true;
        while (isFlowing && response.writable) {
          isFlowing = response.write(Buffer.alloc(65_536));
          poured += 65_536;
        }
      };
      response.on("drain", pour);
      pour();
    });
    expect(await fetchFrom(rig, "https://images.example.org/endless")).toMatchObject({
      kind: "refused",
      fault: "too-large",
    });
    expect(poured).toBeLessThan(20 * 1_048_576); // the limit, plus what the sockets in between buffer
  });

  test("an announced size over the limit is refused without reading", async () => {
    rig.host.routes.set("/large", (_request, response) => {
      response.writeHead(200, { "content-length": BYTES_MAX + 1 });
      response.flushHeaders();
    });
    expect(await fetchFrom(rig, "https://images.example.org/large")).toMatchObject({
      kind: "refused",
      fault: "too-large",
    });
  });

  test("a body of exactly the limit is accepted", async () => {
    rig.host.routes.set("/exact", (_request, response) => response.writeHead(200).end(Buffer.alloc(BYTES_MAX, 1)));
    const outcome = await fetchFrom(rig, "https://images.example.org/exact");
    expect(outcome.kind === "fetched" && outcome.content.length).toBe(BYTES_MAX);
  });

  test("a body shorter than announced is refused", async () => {
    rig.host.routes.set("/short", (_request, response) => {
      response.writeHead(200, { "content-length": 1_000 });
      response.write("some", () => response.destroy());
    });
    expect(await fetchFrom(rig, "https://images.example.org/short")).toMatchObject({
      kind: "refused",
      fault: "connection",
    });
  });

  test.each(["gzip", "br", "deflate", "zstd", "GZIP, identity", "x-unknown"])(
    "content encoding %s is refused",
    async (name) => {
      rig.host.routes.set("/packed", (_request, response) =>
        response.writeHead(200, { "content-encoding": name }).end(rig.png),
      );
      expect(await fetchFrom(rig, "https://images.example.org/packed")).toMatchObject({
        kind: "refused",
        fault: "encoding",
      });
    },
  );

  test("no compression is requested, and no cookie, credential, or referrer is sent", async () => {
    const sent = Promise.withResolvers<Record<string, unknown>>();
    rig.host.routes.set("/look", (request, response) => {
      sent.resolve(request.headers);
      response.writeHead(200).end(rig.png);
    });
    await fetchFrom(rig, "https://images.example.org/look");
    expect(Object.keys(await sent.promise).sort()).toEqual(["accept", "connection", "host", "user-agent"]);
  });

  test("a trickle is ended by the total time limit, however active the connection is", async () => {
    rig.host.routes.set("/trickle", (_request, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write("x"), 20);
      response.on("close", () => clearInterval(timer));
    });
    const outcome = await fetchFrom(rig, "https://images.example.org/trickle", { times: shortTimes });
    expect(outcome).toMatchObject({ kind: "refused", fault: "timeout" });
  });

  describe("a floor on throughput", () => {
    const times = { windowMs: 200, windowBytesMin: 400, totalMs: 60_000 };
    const drip = (path: string, bytes: number, everyMs: number, totalBytes = Infinity) =>
      rig.host.routes.set(path, (_request, response) => {
        let left = totalBytes;
        response.writeHead(200);
        const timer = setInterval(() => {
          response.write(Buffer.alloc(Math.min(bytes, left)));
          left -= bytes;
          if (left <= 0) response.end();
        }, everyMs);
        response.on("close", () => clearInterval(timer));
      });

    test("ends a body that only trickles, long before the total time limit", async () => {
      drip("/drip", 1, 10);
      expect(await fetchFrom(rig, "https://images.example.org/drip", { times })).toMatchObject({
        kind: "refused",
        fault: "timeout",
      });
    });

    test("ends a body that stalls after a fast start", async () => {
      rig.host.routes.set("/stalls", (_request, response) => response.writeHead(200).write(Buffer.alloc(50_000)));
      expect(await fetchFrom(rig, "https://images.example.org/stalls", { times })).toMatchObject({
        kind: "refused",
        fault: "timeout",
      });
    });

    test("accepts a body in rare packets, if each window has enough", async () => {
      drip("/bursts", 5_000, 100, 40_000);
      const outcome = await fetchFrom(rig, "https://images.example.org/bursts", {
        times: { ...times, windowMs: 1_000, windowBytesMin: 5_000 },
      });
      expect(outcome).toMatchObject({ kind: "fetched" });
    });

    test("does not apply to a file that a provider serves slowly", async () => {
      drip("/slow", 1, 20, 20);
      const outcome = await fetchFrom(rig, "https://images.example.org/slow", {
        times: { ...times, windowMs: 50, windowBytesMin: 0 },
      });
      expect(outcome).toMatchObject({ kind: "fetched" });
    });
  });

  test("headers that never arrive are ended by their own time limit", async () => {
    rig.host.routes.set("/silent", () => {});
    const outcome = await fetchFrom(rig, "https://images.example.org/silent", {
      times: { headersMs: 100, totalMs: 60_000 },
    });
    expect(outcome).toMatchObject({ kind: "refused", fault: "timeout" });
    expect(rig.host.requests).toEqual(["/silent"]);
  });

  test("a connection that is never established is ended by its own time limit and retried once", async () => {
    let attempts = 0;
    const connect = () => {
      attempts += 1;
      return new Promise<never>(() => {});
    };
    const outcome = await fetchFrom(rig, "https://images.example.org/cat.png", {
      network: { ...rig.host.network, connect },
      times: { connectMs: 50, totalMs: 60_000 },
    });
    expect(outcome).toMatchObject({ kind: "refused", fault: "connection" });
    expect(attempts).toBe(2);
  });

  test("a name server that never responds is ended by the connection's time limit", async () => {
    const resolve = () => new Promise<never>(() => {});
    const outcome = await fetchFrom(rig, "https://images.example.org/cat.png", {
      network: { ...rig.host.network, resolve },
      times: { connectMs: 50, totalMs: 60_000 },
    });
    expect(outcome).toMatchObject({ kind: "refused", fault: "connection" });
    expect(rig.host.attempts).toEqual([]);
  });

  test.each([404, 401, 403, 410, 204, 206, 304, 429])("%i is refused without a retry", async (status) => {
    rig.host.routes.set("/status", (_request, response) => response.writeHead(status).end());
    expect(await fetchFrom(rig, "https://images.example.org/status")).toMatchObject({
      kind: "refused",
      fault: "status",
    });
    expect(rig.host.requests).toEqual(["/status"]);
  });

  test("a 500 is retried once, and the second response counts", async () => {
    rig.host.routes.set("/shaky", (_request, response) => {
      if (rig.host.requests.length === 1) response.writeHead(500).end();
      else response.writeHead(200).end(rig.png);
    });
    expect(await fetchFrom(rig, "https://images.example.org/shaky")).toEqual({ kind: "fetched", content: rig.png });
    rig.host.routes.set("/broken", (_request, response) => response.writeHead(500).end());
    expect(await fetchFrom(rig, "https://images.example.org/broken")).toMatchObject({
      kind: "refused",
      fault: "status",
    });
    expect(rig.host.requests).toEqual(["/shaky", "/shaky", "/broken", "/broken"]);
  });

  test("a connection that is reset is retried once", async () => {
    rig.host.routes.set("/reset", (request, response) => {
      if (rig.host.requests.length === 1) request.socket.destroy();
      else response.writeHead(200).end(rig.png);
    });
    expect(await fetchFrom(rig, "https://images.example.org/reset")).toEqual({ kind: "fetched", content: rig.png });
  });

  test("an untrusted certificate is refused", async () => {
    const stranger = createTestCertificate(["images.example.org"]);
    const outcome = await fetchFrom(rig, "https://images.example.org/cat.png", { trusted: stranger.cert });
    expect(outcome).toMatchObject({ kind: "refused", fault: "connection" });
    expect(rig.host.requests).toEqual([]);
  });

  test("a certificate for another host is refused", async () => {
    const outcome = await fetchFrom(rig, "https://images.example.com/cat.png");
    expect(outcome).toMatchObject({ kind: "refused", fault: "connection" });
    expect(rig.host.requests).toEqual([]);
  });

  test("a response that is not HTTP is refused", async () => {
    rig.host.routes.set("/noise", (request) => request.socket.end("\0\0 not an answer \r\n\r\n"));
    expect(await fetchFrom(rig, "https://images.example.org/noise")).toMatchObject({
      kind: "refused",
      fault: "connection",
    });
  });

  test("endless headers are refused", async () => {
    rig.host.routes.set("/headers", (request) => {
      request.socket.write("HTTP/1.1 200 OK\r\n");
      request.socket.end(`X-Long: ${"x".repeat(200_000)}\r\n\r\n`);
    });
    expect(await fetchFrom(rig, "https://images.example.org/headers")).toMatchObject({
      kind: "refused",
      fault: "connection",
    });
  });
});

test("the caller's own abort rejects a fetch, instead of refusing it", async () => {
  const stop = new AbortController();
  rig.host.routes.set("/silent", () => stop.abort(new Error("the run was canceled")));
  const fetching = createGuardedFetch({ network: rig.host.network, trusted: rig.host.cert }).fetch(
    "https://images.example.org/silent",
    BYTES_MAX,
    stop.signal,
  );
  await expect(fetching).rejects.toThrow("the run was canceled");
});
