/** Images come only from public addresses, however an address is spelled, resolved, or changed meanwhile. */
import { createServer, type AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { connectGuarded } from "../../src/files/fetch/guarded-connect.ts";
import { checkImageInputs } from "../../src/files/index.ts";
import { ADDRESSES, HOST_SPELLINGS, PUBLIC_ADDRESSES, STRANGE_ANSWERS } from "./address-corpus.ts";
import { fetchFrom, never, redirectTo, useGuardedFetch } from "./guarded-fetch-fixture.ts";
import { connectAs, PUBLIC_ADDRESS } from "./image-host.ts";

const rig = useGuardedFetch();
const asHost = (address: string) => (address.includes(":") ? `[${address}]` : address);

describe("addresses that are not public", () => {
  const literals = [...HOST_SPELLINGS, ...ADDRESSES.map(asHost)];

  test.each(literals)("%s is refused when the run is created", (literal) => {
    const issues = checkImageInputs([{ type: "url", url: `https://${literal}/cat.png` }]);
    expect(issues).toHaveLength(1);
    expect(issues[0]).toMatchObject({ path: ["body", "inputs", "imageInputs", 0, "url"], code: "invalid_image" });
    expect(issues[0]?.message).toMatch(/^Image 1: the URL (must be publicly accessible|is not valid)\./);
  });

  test.each(literals)("%s is never connected to when an address names it", async (literal) => {
    expect(await fetchFrom(rig, `https://${literal}/cat.png`)).toMatchObject({ kind: "refused", fault: "blocked" });
    expect(rig.host.attempts).toEqual([]);
    expect(rig.host.questions).toEqual([]);
  });

  test.each(literals)("%s is never connected to when a redirect leads there", async (literal) => {
    redirectTo(rig, `https://${literal}/cat.png`);
    const outcome = await fetchFrom(rig, "https://images.example.org/away");
    expect(outcome.kind).toBe("refused");
    expect(rig.host.attempts).toHaveLength(1);
    expect(rig.host.requests).toEqual(["/away"]);
  });

  test.each([...ADDRESSES, ...STRANGE_ANSWERS])(
    "%s is never connected to when a name resolves to it",
    async (address) => {
      rig.host.names.set("images.example.org", [address]);
      expect(await fetchFrom(rig, "https://images.example.org/cat.png")).toMatchObject({
        kind: "refused",
        fault: "blocked",
      });
      expect(rig.host.attempts).toEqual([]);
    },
  );

  test.each(ADDRESSES)("one %s among public answers refuses the name, wherever it stands", async (address) => {
    for (const answers of [
      [address, PUBLIC_ADDRESS],
      [PUBLIC_ADDRESS, address],
      [PUBLIC_ADDRESS, address, "2606:4700:4700::1111"],
    ]) {
      rig.host.names.set("images.example.org", answers);
      expect(await fetchFrom(rig, "https://images.example.org/cat.png")).toMatchObject({
        kind: "refused",
        fault: "blocked",
      });
    }
    expect(rig.host.attempts).toEqual([]);
  });
});

describe("public addresses", () => {
  test.each(PUBLIC_ADDRESSES)("%s passes the check of a run and is connected to", async (address) => {
    const url = `https://${asHost(address)}/cat.png`;
    expect(checkImageInputs([{ type: "url", url }])).toEqual([]);
    await fetchFrom(rig, url); // the certificate is for a host name, so the response is refused; only the connection counts
    expect(rig.host.attempts[0]).toEqual({ addresses: [address], port: 443 });
  });

  test("a name with only public addresses is fetched, pinned to exactly these addresses", async () => {
    const answers = [PUBLIC_ADDRESS, "2606:4700:4700::1111"];
    rig.host.names.set("images.example.org", answers);
    expect(await fetchFrom(rig, "https://images.example.org/cat.png")).toEqual({ kind: "fetched", content: rig.png });
    expect(rig.host.attempts).toEqual([{ addresses: answers, port: 443 }]);
    expect(rig.host.questions).toEqual(["images.example.org"]);
  });
});

describe("rebinding", () => {
  const publicFirst = () => {
    let lookups = 0;
    return () => {
      lookups += 1;
      return lookups === 1 ? [PUBLIC_ADDRESS] : ["127.0.0.1"];
    };
  };

  test("a name that becomes private for the hop after a redirect is refused", async () => {
    rig.host.names.set("images.example.org", publicFirst());
    redirectTo(rig, "https://images.example.org/cat.png");
    expect(await fetchFrom(rig, "https://images.example.org/away")).toMatchObject({
      kind: "refused",
      fault: "blocked",
    });
    expect(rig.host.attempts).toHaveLength(1);
  });

  test("a name that becomes private for the retry is refused", async () => {
    rig.host.names.set("images.example.org", publicFirst());
    rig.host.routes.set("/broken", (_request, response) => response.writeHead(503).end());
    expect(await fetchFrom(rig, "https://images.example.org/broken")).toMatchObject({
      kind: "refused",
      fault: "blocked",
    });
    expect(rig.host.attempts).toHaveLength(1);
  });

  const parsable = ["localhost", ...ADDRESSES].filter((address) => URL.canParse(`https://${asHost(address)}/`));
  test.each(parsable)("the connector itself refuses the literal %s", async (literal) => {
    const connecting = connectGuarded(new URL(`https://${asHost(literal)}/`), rig.host.network, rig.host.cert, never);
    await expect(connecting).rejects.toMatchObject({ fault: "blocked" });
    expect([rig.host.attempts, rig.host.questions]).toEqual([[], []]);
  });

  test("a socket that reached a private address gets no bytes, whatever the name resolved to", async () => {
    const received: Buffer[] = [];
    const closed = Promise.withResolvers<void>();
    const server = createServer((socket) => {
      socket.on("data", (piece) => received.push(piece));
      socket.on("close", () => closed.resolve());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const connect = () => connectAs("10.0.0.7", (server.address() as AddressInfo).port);
    const outcome = await fetchFrom(rig, "https://images.example.org/cat.png", {
      network: { ...rig.host.network, connect },
    });
    await closed.promise;
    server.close();
    expect(outcome).toMatchObject({ kind: "refused", fault: "blocked" });
    expect(received).toEqual([]);
  });
});

test("no environment variable routes a fetch through a proxy or allows private addresses", async () => {
  const names = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "ALL_PROXY", "NODE_USE_ENV_PROXY", "NODE_EXTRA_CA_CERTS"];
  const before = names.map((name) => [name, process.env[name]] as const);
  for (const name of names) process.env[name] = "http://127.0.0.1:9";
  try {
    expect(await fetchFrom(rig, "https://images.example.org/cat.png")).toEqual({ kind: "fetched", content: rig.png });
    expect(await fetchFrom(rig, "https://127.0.0.1/cat.png")).toMatchObject({ kind: "refused", fault: "blocked" });
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
});
