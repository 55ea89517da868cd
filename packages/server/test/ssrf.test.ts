import { createServer, type AddressInfo } from "node:net";
import sharp from "sharp";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { GuardedFetchOptions } from "../src/files/guarded-fetch.ts";
import { checkImageInputs, createGuardedFetch } from "../src/files/index.ts";
import { connectGuarded } from "../src/files/guarded-connect.ts";
import { connectAs, PUBLIC_ADDRESS, startImageHost, type ImageHost } from "./image-host.ts";
import { createTestCertificate } from "./test-certificate.ts";

/** Hosts as they may stand in an address: every spelling of the machine itself that parsers are known to take. */
const HOST_SPELLINGS = [
  "127.0.0.1",
  "127.0.0.2",
  "127.255.255.254",
  "localhost",
  "LOCALHOST",
  "localhost.",
  "app.localhost",
  "app.localhost.",
  "0.0.0.0",
  "0",
  "0x0",
  "2130706433",
  "017700000001",
  "0x7f000001",
  "0x7F.0.0.1",
  "0x7f.1",
  "0177.0.0.1",
  "0177.0.0.01",
  "00000177.0.0.1",
  "127.1",
  "127.0.1",
  "127.0.0.1.",
  "[::1]",
  "[0:0:0:0:0:0:0:1]",
  "[0000:0000:0000:0000:0000:0000:0000:0001]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[0:0:0:0:0:ffff:127.0.0.1]",
  "[::]",
  "[::127.0.0.1]",
  "[64:ff9b::7f00:1]",
  "[64:ff9b::127.0.0.1]",
  "[2002:7f00:1::]",
  "%31%32%37.0.0.1",
  "%6cocalhost",
  "①②⑦.⓪.⓪.①",
  "①②⑦．⓪．⓪．①",
  "１２７.０.０.１",
  "127。0。0。1",
  "127．0．0．1",
  "127｡0｡0｡1",
  "ｌｏｃａｌｈｏｓｔ",
  "loc\u00adalhost",
  "[::ffff:169.254.169.254]",
  "2852039166",
  "0xa9fea9fe",
  "0251.0376.0251.0376",
  "169.254.43518",
  "intranet",
  "metadata",
];

const ADDRESSES = [
  "169.254.169.254",
  "169.254.170.2",
  "168.63.129.16",
  "100.64.0.1",
  "100.100.100.200",
  "192.0.0.192",
  "192.0.2.1",
  "192.31.196.1",
  "192.52.193.1",
  "192.175.48.1",
  "198.18.0.1",
  "198.19.255.255",
  "198.51.100.7",
  "203.0.113.1",
  "224.0.0.1",
  "240.0.0.1",
  "255.255.255.255",
  "0.0.0.0",
  "0.1.2.3",
  "10.1.2.3",
  "127.0.0.1",
  "172.16.0.1",
  "172.31.0.1",
  "192.168.0.1",
  "192.88.99.1",
  "::ffff:169.254.169.254",
  "::ffff:8.8.8.8",
  "64:ff9b::a9fe:a9fe",
  "64:ff9b:1::a9fe:a9fe",
  "2002:a9fe:a9fe::",
  "2001:0:4136:e378:8000:63bf:3fff:fdd2",
  "2001:10::1",
  "::169.254.169.254",
  "fe80::1",
  "fe80::1%eth0",
  "fec0::1",
  "fc00::1",
  "fd00:ec2::254",
  "ff02::1",
  "2001:db8::1",
  "2620:4f:8000::1",
  "100::1",
  "5f00::1",
  "3fff::1",
  "4000::1",
  "::",
  "::1",
];

/** What a broken or hostile resolver might hand over besides addresses. */
const STRANGE_ANSWERS = [
  "",
  "localhost",
  "127.1",
  "0x7f000001",
  "2130706433",
  "8.8.8.8 ",
  "8.8.8.8/32",
  "2606:4700::%1",
];

const PUBLIC_ADDRESSES = [
  "8.8.8.8",
  "1.1.1.1",
  "93.184.216.34",
  "2606:4700:4700::1111",
  "2001:4860:4860::8888",
  "2a00:1450:4001:80e::200e",
];

const asHost = (address: string) => (address.includes(":") ? `[${address}]` : address);
const never = new AbortController().signal;
const BYTES_MAX = 100_000;

let host: ImageHost;
let png: Buffer;

beforeAll(async () => {
  host = await startImageHost();
  png = await sharp({ create: { width: 8, height: 8, channels: 3, background: "red" } })
    .png()
    .toBuffer();
});
afterAll(() => host.close());
beforeEach(() => {
  host.routes.clear();
  host.names.clear();
  host.attempts.length = 0;
  host.questions.length = 0;
  host.requests.length = 0;
  host.routes.set("/cat.png", (_request, response) => response.writeHead(200).end(png));
});

function fetchFrom(address: string, options: Partial<GuardedFetchOptions> = {}) {
  return createGuardedFetch({ network: host.network, trusted: host.cert, ...options }).fetch(address, BYTES_MAX, never);
}

function redirectTo(address: string): void {
  const location = Buffer.from(address).toString("latin1"); // other letters travel as the bytes of their UTF-8
  host.routes.set("/away", (_request, response) => response.writeHead(302, { location }).end());
}

describe("addresses that are not public", () => {
  const literals = [...HOST_SPELLINGS, ...ADDRESSES.map(asHost)];

  test.each(literals)("%s is refused when the run is created", (literal) => {
    const issues = checkImageInputs([{ type: "url", url: `https://${literal}/cat.png` }]);
    expect(issues).toHaveLength(1);
    expect(issues[0]).toMatchObject({ path: ["body", "inputs", "imageInputs", 0, "url"], code: "invalid_image" });
    expect(issues[0]?.message).toMatch(/^Image 1: the URL (must be publicly accessible|is not valid)\./);
  });

  test.each(literals)("%s is never connected to when an address names it", async (literal) => {
    expect(await fetchFrom(`https://${literal}/cat.png`)).toEqual({ kind: "refused", fault: "blocked" });
    expect(host.attempts).toEqual([]);
    expect(host.questions).toEqual([]);
  });

  test.each(literals)("%s is never connected to when a redirect leads there", async (literal) => {
    redirectTo(`https://${literal}/cat.png`);
    const outcome = await fetchFrom("https://images.example.org/away");
    expect(outcome.kind).toBe("refused");
    expect(host.attempts).toHaveLength(1);
    expect(host.requests).toEqual(["/away"]);
  });

  test.each([...ADDRESSES, ...STRANGE_ANSWERS])(
    "%s is never connected to when a name resolves to it",
    async (address) => {
      host.names.set("images.example.org", [address]);
      expect(await fetchFrom("https://images.example.org/cat.png")).toEqual({ kind: "refused", fault: "blocked" });
      expect(host.attempts).toEqual([]);
    },
  );

  test.each(ADDRESSES)("one %s among public answers refuses the name, wherever it stands", async (address) => {
    for (const answers of [
      [address, PUBLIC_ADDRESS],
      [PUBLIC_ADDRESS, address],
      [PUBLIC_ADDRESS, address, "2606:4700:4700::1111"],
    ]) {
      host.names.set("images.example.org", answers);
      expect(await fetchFrom("https://images.example.org/cat.png")).toEqual({ kind: "refused", fault: "blocked" });
    }
    expect(host.attempts).toEqual([]);
  });
});

describe("public addresses", () => {
  test.each(PUBLIC_ADDRESSES)("%s passes the check of a run and is connected to", async (address) => {
    const url = `https://${asHost(address)}/cat.png`;
    expect(checkImageInputs([{ type: "url", url }])).toEqual([]);
    await fetchFrom(url); // the certificate names a host, so the answer is refused; the connection is what counts
    expect(host.attempts[0]).toEqual({ addresses: [address], port: 443 });
  });

  test("a name with public answers only is fetched, pinned to exactly these answers", async () => {
    const answers = [PUBLIC_ADDRESS, "2606:4700:4700::1111"];
    host.names.set("images.example.org", answers);
    expect(await fetchFrom("https://images.example.org/cat.png")).toEqual({ kind: "fetched", kept: png });
    expect(host.attempts).toEqual([{ addresses: answers, port: 443 }]);
    expect(host.questions).toEqual(["images.example.org"]);
  });
});

describe("rebinding", () => {
  const publicFirst = () => {
    let asked = 0;
    return () => {
      asked += 1;
      return asked === 1 ? [PUBLIC_ADDRESS] : ["127.0.0.1"];
    };
  };

  test("a name that turns private for the hop after a redirect is refused", async () => {
    host.names.set("images.example.org", publicFirst());
    redirectTo("https://images.example.org/cat.png");
    expect(await fetchFrom("https://images.example.org/away")).toEqual({ kind: "refused", fault: "blocked" });
    expect(host.attempts).toHaveLength(1);
  });

  test("a name that turns private for the retry is refused", async () => {
    host.names.set("images.example.org", publicFirst());
    host.routes.set("/broken", (_request, response) => response.writeHead(503).end());
    expect(await fetchFrom("https://images.example.org/broken")).toEqual({ kind: "refused", fault: "blocked" });
    expect(host.attempts).toHaveLength(1);
  });

  const parsable = ["localhost", ...ADDRESSES].filter((address) => URL.canParse(`https://${asHost(address)}/`));
  test.each(parsable)("the connector itself refuses the literal %s", async (literal) => {
    const connecting = connectGuarded(new URL(`https://${asHost(literal)}/`), host.network, host.cert, never);
    await expect(connecting).rejects.toMatchObject({ fault: "blocked" });
    expect([host.attempts, host.questions]).toEqual([[], []]);
  });

  test("a socket that reached a private address gets no byte, whatever the name resolved to", async () => {
    const received: Buffer[] = [];
    const closed = Promise.withResolvers<void>();
    const server = createServer((socket) => {
      socket.on("data", (piece) => received.push(piece));
      socket.on("close", () => closed.resolve());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const connect = () => connectAs("10.0.0.7", (server.address() as AddressInfo).port);
    const outcome = await fetchFrom("https://images.example.org/cat.png", { network: { ...host.network, connect } });
    await closed.promise;
    server.close();
    expect(outcome).toEqual({ kind: "refused", fault: "blocked" });
    expect(received).toEqual([]);
  });
});

describe("redirects", () => {
  const chain = (length: number) => {
    for (let step = 0; step < length; step += 1) {
      host.routes.set(`/${step}`, (_request, response) => response.writeHead(302, { location: `/${step + 1}` }).end());
    }
    host.routes.set(`/${length}`, (_request, response) => response.writeHead(200).end(png));
  };

  test("three are followed", async () => {
    chain(3);
    expect(await fetchFrom("https://images.example.org/0")).toEqual({ kind: "fetched", kept: png });
    expect(host.questions).toHaveLength(4); // every hop is resolved and checked again
  });

  test("a fourth is refused", async () => {
    chain(4);
    expect(await fetchFrom("https://images.example.org/0")).toEqual({ kind: "refused", fault: "redirect" });
    expect(host.requests).toEqual(["/0", "/1", "/2", "/3"]);
  });

  test("a loop is refused", async () => {
    redirectTo("/away");
    expect(await fetchFrom("https://images.example.org/away")).toEqual({ kind: "refused", fault: "redirect" });
  });

  test.each([
    ["plain http", "http://images.example.org/cat.png"],
    ["user information", "https://user:secret@images.example.org/cat.png"],
    ["another port", "https://images.example.org:8443/cat.png"],
    ["a file", "file:///etc/passwd"],
    ["data", "data:image/png;base64,iVBORw0KGgo="],
    ["another scheme", "gopher://images.example.org/"],
  ])("one to %s is refused", async (_name, location) => {
    redirectTo(location);
    expect(await fetchFrom("https://images.example.org/away")).toEqual({ kind: "refused", fault: "blocked" });
    expect(host.requests).toEqual(["/away"]);
  });

  test.each([301, 302, 303, 307, 308])("%i without a usable location is refused", async (status) => {
    host.routes.set("/nowhere", (_request, response) => response.writeHead(status).end());
    expect(await fetchFrom("https://images.example.org/nowhere")).toEqual({ kind: "refused", fault: "redirect" });
  });
});

describe("hostile answers", () => {
  const shortTimes = { connectMs: 400, headersMs: 400, totalMs: 600 };

  test("an endless body is cut at the limit", async () => {
    let poured = 0;
    host.routes.set("/endless", (_request, response) => {
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
    expect(await fetchFrom("https://images.example.org/endless")).toEqual({ kind: "refused", fault: "too-large" });
    expect(poured).toBeLessThan(20 * 1_048_576); // the limit, and what the sockets between hold
  });

  test("an announced size over the limit is refused without reading", async () => {
    host.routes.set("/large", (_request, response) => {
      response.writeHead(200, { "content-length": BYTES_MAX + 1 });
      response.flushHeaders();
    });
    expect(await fetchFrom("https://images.example.org/large")).toEqual({ kind: "refused", fault: "too-large" });
  });

  test("a body of exactly the limit is taken", async () => {
    host.routes.set("/exact", (_request, response) => response.writeHead(200).end(Buffer.alloc(BYTES_MAX, 1)));
    const outcome = await fetchFrom("https://images.example.org/exact");
    expect(outcome.kind === "fetched" && outcome.kept.length).toBe(BYTES_MAX);
  });

  test("a body shorter than announced is refused", async () => {
    host.routes.set("/short", (_request, response) => {
      response.writeHead(200, { "content-length": 1_000 });
      response.write("some", () => response.destroy());
    });
    expect(await fetchFrom("https://images.example.org/short")).toEqual({ kind: "refused", fault: "connection" });
  });

  test.each(["gzip", "br", "deflate", "zstd", "GZIP, identity", "x-unknown"])(
    "content encoding %s is refused",
    async (name) => {
      host.routes.set("/packed", (_request, response) =>
        response.writeHead(200, { "content-encoding": name }).end(png),
      );
      expect(await fetchFrom("https://images.example.org/packed")).toEqual({ kind: "refused", fault: "encoding" });
    },
  );

  test("no compression is asked for, and no cookie, credential or referrer is sent", async () => {
    const sent = Promise.withResolvers<Record<string, unknown>>();
    host.routes.set("/look", (request, response) => {
      sent.resolve(request.headers);
      response.writeHead(200).end(png);
    });
    await fetchFrom("https://images.example.org/look");
    expect(Object.keys(await sent.promise).sort()).toEqual(["accept", "connection", "host", "user-agent"]);
  });

  test("a trickle is ended by the total time, however alive the connection is", async () => {
    host.routes.set("/trickle", (_request, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write("x"), 20);
      response.on("close", () => clearInterval(timer));
    });
    const outcome = await fetchFrom("https://images.example.org/trickle", { times: shortTimes });
    expect(outcome).toEqual({ kind: "refused", fault: "timeout" });
  });

  test("headers that never come are ended by their own time", async () => {
    host.routes.set("/silent", () => {});
    const outcome = await fetchFrom("https://images.example.org/silent", {
      times: { headersMs: 100, totalMs: 60_000 },
    });
    expect(outcome).toEqual({ kind: "refused", fault: "timeout" });
    expect(host.requests).toEqual(["/silent"]);
  });

  test("a connection that never comes is ended by its own time and tried once more", async () => {
    let attempts = 0;
    const connect = () => {
      attempts += 1;
      return new Promise<never>(() => {});
    };
    const outcome = await fetchFrom("https://images.example.org/cat.png", {
      network: { ...host.network, connect },
      times: { connectMs: 50, totalMs: 60_000 },
    });
    expect(outcome).toEqual({ kind: "refused", fault: "connection" });
    expect(attempts).toBe(2);
  });

  test("a name server that never answers is ended by the connection's time", async () => {
    const resolve = () => new Promise<never>(() => {});
    const outcome = await fetchFrom("https://images.example.org/cat.png", {
      network: { ...host.network, resolve },
      times: { connectMs: 50, totalMs: 60_000 },
    });
    expect(outcome).toEqual({ kind: "refused", fault: "connection" });
    expect(host.attempts).toEqual([]);
  });

  test.each([404, 401, 403, 410, 204, 206, 304, 429])("%i is refused without a retry", async (status) => {
    host.routes.set("/status", (_request, response) => response.writeHead(status).end());
    expect(await fetchFrom("https://images.example.org/status")).toEqual({ kind: "refused", fault: "status" });
    expect(host.requests).toEqual(["/status"]);
  });

  test("500 is tried once more, and the second answer counts", async () => {
    host.routes.set("/shaky", (_request, response) => {
      if (host.requests.length === 1) response.writeHead(500).end();
      else response.writeHead(200).end(png);
    });
    expect(await fetchFrom("https://images.example.org/shaky")).toEqual({ kind: "fetched", kept: png });
    host.routes.set("/broken", (_request, response) => response.writeHead(500).end());
    expect(await fetchFrom("https://images.example.org/broken")).toEqual({ kind: "refused", fault: "status" });
    expect(host.requests).toEqual(["/shaky", "/shaky", "/broken", "/broken"]);
  });

  test("a connection that is reset is tried once more", async () => {
    host.routes.set("/reset", (request, response) => {
      if (host.requests.length === 1) request.socket.destroy();
      else response.writeHead(200).end(png);
    });
    expect(await fetchFrom("https://images.example.org/reset")).toEqual({ kind: "fetched", kept: png });
  });

  test("a certificate nobody vouches for is refused", async () => {
    const stranger = createTestCertificate(["images.example.org"]);
    const outcome = await fetchFrom("https://images.example.org/cat.png", { trusted: stranger.cert });
    expect(outcome).toEqual({ kind: "refused", fault: "connection" });
    expect(host.requests).toEqual([]);
  });

  test("a certificate for another host is refused", async () => {
    const outcome = await fetchFrom("https://images.example.com/cat.png");
    expect(outcome).toEqual({ kind: "refused", fault: "connection" });
    expect(host.requests).toEqual([]);
  });

  test("an answer that is no HTTP is refused", async () => {
    host.routes.set("/noise", (request) => request.socket.end("\0\0 not an answer \r\n\r\n"));
    expect(await fetchFrom("https://images.example.org/noise")).toEqual({ kind: "refused", fault: "connection" });
  });

  test("headers without end are refused", async () => {
    host.routes.set("/headers", (request) => {
      request.socket.write("HTTP/1.1 200 OK\r\n");
      request.socket.end(`X-Long: ${"x".repeat(200_000)}\r\n\r\n`);
    });
    expect(await fetchFrom("https://images.example.org/headers")).toEqual({ kind: "refused", fault: "connection" });
  });
});

test("the caller's own abort ends a fetch as a rejection, not as a refusal", async () => {
  const stop = new AbortController();
  host.routes.set("/silent", () => stop.abort(new Error("the run was canceled")));
  const fetching = createGuardedFetch({ network: host.network, trusted: host.cert }).fetch(
    "https://images.example.org/silent",
    BYTES_MAX,
    stop.signal,
  );
  await expect(fetching).rejects.toThrow("the run was canceled");
});

test("no variable of the environment leads a fetch through a proxy or opens private addresses", async () => {
  const names = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "ALL_PROXY", "NODE_USE_ENV_PROXY", "NODE_EXTRA_CA_CERTS"];
  const before = names.map((name) => [name, process.env[name]] as const);
  for (const name of names) process.env[name] = "http://127.0.0.1:9";
  try {
    expect(await fetchFrom("https://images.example.org/cat.png")).toEqual({ kind: "fetched", kept: png });
    expect(await fetchFrom("https://127.0.0.1/cat.png")).toEqual({ kind: "refused", fault: "blocked" });
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
});
