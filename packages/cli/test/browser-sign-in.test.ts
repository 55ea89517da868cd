/** `promptd login` through a console page, against a real server. The test sends what the page would send. */
import type { Scope } from "@promptd/contract";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createTestPerson, type TestPerson } from "../../server/test/people/people-fixture.ts";
import { startTestServer, type TestServer } from "../../server/test/support/test-server.ts";
import { NO_TERMINAL } from "../src/terminal/terminal.ts";
import { runCommandHere } from "./run-here.ts";

let server: TestServer;
let person: TestPerson;

beforeAll(async () => {
  server = await startTestServer();
  person = await createTestPerson(server);
});
afterAll(() => server.close());

const ON_TERMINAL = { ...NO_TERMINAL, isOut: true, isError: true };

interface AtTheComputer {
  /** What a browser does with a URL; null: there is no browser. */
  readonly browse: ((address: string) => void) | null;
  /** What is typed when a secret is asked for, given what was printed before. */
  readonly type?: (printed: string) => Promise<string>;
  /** How the server responds; the real server when absent. */
  readonly fetch?: typeof globalThis.fetch;
}

async function login({ browse, type, fetch = globalThis.fetch }: AtTheComputer, ...argv: readonly string[]) {
  const home = await mkdtemp(join(tmpdir(), "promptd-login-"));
  onTestFinished(() => rm(home, { recursive: true }));
  let noted = "";
  const ended = await runCommandHere(["login", server.url, ...argv], {
    env: { HOME: home },
    fetch,
    terminal: ON_TERMINAL,
    askSecret: async () => (await type?.(noted)) ?? null,
    openBrowser: async (address) => {
      browse?.(address);
      return browse !== null;
    },
    writeError: (text) => void (noted += text),
  });
  const stored = await readFile(join(home, ".config/promptd/config.json"), "utf8").catch(() => "{}");
  return { ...ended, stored: JSON.parse(stored) as Record<string, string> };
}

/** What the page has been asked with, behind the number sign that the address of the program is led to. */
async function readPage(address: string) {
  const led = await fetch(address, { redirect: "manual" });
  const page = new URL(led.headers.get("location") ?? "");
  expect(page.pathname).toBe("/authorize");
  const params = new URLSearchParams(page.hash.slice(1));
  const of = (name: string) => params.get(name) ?? "";
  const request = {
    clientId: of("client_id"),
    redirectUri: of("redirect_uri"),
    codeChallenge: of("code_challenge"),
    state: of("state"),
  };
  return { request, scopes: of("scope").split(" ") as Scope[] };
}

/** Agrees on the page. @returns where the browser goes next. */
async function agree(address: string): Promise<URL> {
  const { request, scopes } = await readPage(address);
  const { clientId, redirectUri } = request;
  const { name } = await person.client.send("showClient", { query: { clientId, redirectUri } });
  expect(name).toMatch(/^Command line on /);
  const { redirectTo } = await person.client.send("authorizeClientWithToken", {
    body: { ...request, scopes, days: 30 },
  });
  return new URL(redirectTo);
}

test("agreeing in the browser returns a management token, which creates an API key for this machine", async () => {
  let shown = "";
  const browse = async (address: string) => {
    shown = await (await fetch(await agree(address))).text();
  };
  const { code, stdout, stderr, stored } = await login({ browse: (address) => void browse(address) });
  expect([code, stderr]).toEqual([0, expect.stringContaining(`Opened ${server.url} in your browser. Confirm there.`)]);
  expect(stdout).toMatch(/ as person-\d+@example\.org, with an API key and a management token\.\n$/);
  expect(stored).toEqual({
    url: server.url,
    apiKey: expect.stringMatching(/^pd_/),
    token: expect.stringMatching(/^pdm_/),
  });
  expect(shown).toContain("return to your terminal");
  const { rows } = await person.client.send("listTokens");
  expect(rows[0]).toMatchObject({ name: expect.stringMatching(/^Command line on /), revokedAt: null });
  expect(rows[0]?.scopes).not.toContain("operator");
});

test("without a browser, the code that the page shows is typed, even minutes later", async () => {
  const type = async (printed: string) => {
    const [address = ""] = /^http\S+$/m.exec(printed) ?? [];
    const led = await agree(address);
    expect(led.protocol).toBe("urn:");
    await server.app.db.query("update auth_verifications set expires_at = expires_at - interval '9 minutes'");
    return `${led.searchParams.get("code") ?? ""}\n`;
  };
  for (const argv of [[], ["--no-browser"]]) {
    const { code, stored, stderr } = await login({ browse: null, type }, ...argv);
    expect([code, stored["token"]], stderr).toEqual([0, expect.stringMatching(/^pdm_/)]);
  }
});

test("an invalid code or a refusal on the page stores nothing and says what to do next", async () => {
  const wrong = await login({ browse: null, type: async () => "A".repeat(43) });
  expect([wrong.code, wrong.stored]).toEqual([1, {}]);
  expect(wrong.stderr).toContain("The code is not valid");
  expect(wrong.stderr).toContain("promptd login --token -");
  const refuse = async (address: string) => {
    const { request } = await readPage(address);
    const strange = new URL(request.redirectUri);
    strange.search = "code=stolen&state=guessed";
    expect((await fetch(strange)).status).toBe(404); // and the command keeps waiting
    expect((await fetch(`${strange.origin}//`)).status).toBe(404);
    const back = new URL(request.redirectUri);
    back.search = String(new URLSearchParams({ error: "access_denied", state: request.state, iss: server.url }));
    await fetch(back);
  };
  const refused = await login({ browse: (address) => void refuse(address) });
  expect([refused.code, refused.stored]).toEqual([1, {}]);
  expect(refused.stderr).toContain("Access was denied in the browser. Nothing was stored.");
});

test("a code from another server is not exchanged", async () => {
  const browse = async (address: string) => {
    const back = await agree(address);
    back.searchParams.set("iss", "https://other.example.org");
    await fetch(back);
  };
  const { code, stderr } = await login({ browse: (address) => void browse(address) });
  expect([code, stderr]).toEqual([1, expect.stringContaining("returned without a code from this server")]);
});

test("a server that claims another address, or names a program to start, opens nothing but its keys page", async () => {
  const real = (await (await fetch(`${server.url}/.well-known/oauth-authorization-server`)).json()) as object;
  const lies = [
    { issuer: "https://other.example.org" },
    { issuer: `${server.url}.example.org` },
    { authorization_endpoint: "file:///bin/sh" },
    { token_endpoint: "https://other.example.org/oauth/token" },
  ];
  for (const lie of lies) {
    const opened: string[] = [];
    const { code, stored, stderr } = await login({
      browse: (address) => void opened.push(address),
      fetch: async () => Response.json({ ...real, ...lie }),
    });
    expect([code === 0, stored, opened]).toEqual([false, {}, [`${server.url}/keys`]]);
    expect(stderr).toContain("set PROMPTD_PUBLIC_URL on the server.");
  }
});
