import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { loadCatalogue } from "./catalogue.ts";
import { askForLists } from "./model-servers.ts";

const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => true, sandbox: true });
const idsOf = (provider: string) =>
  catalogue.entries
    .filter((one) => one.provider === provider && one.status !== "retired")
    .map((one) => one.providerModel);

async function startLists(lists: Readonly<Record<string, unknown>>) {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "", "http://localhost");
    const { authorization } = request.headers;
    requests.push(
      [pathname, authorization ?? request.headers["x-api-key"] ?? request.headers["x-goog-api-key"]].join(" "),
    );
    response.end(JSON.stringify(lists[pathname] ?? "no list"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

test("a provider's own list reveals models that are gone, and end dates that the catalogue does not have", async () => {
  const openai = idsOf("openai")
    .filter((id) => id !== "gpt-6-luna")
    .map((id) => ({ id, ...(id === "gpt-6-sol" ? { shutdown_date: "2027-06-30" } : {}) }));
  const anthropic = idsOf("anthropic").map((id) => ({ id }));
  const google = idsOf("google").map((id) => ({ name: `models/${id}` }));
  const { url, requests } = await startLists({
    "/openai/models": { object: "list", data: openai },
    "/anthropic/models": { data: anthropic },
    "/google/models": { models: google },
  });
  const environment: Record<string, string> = {
    OPENAI_API_KEY: "k1",
    OPENAI_BASE_URL: `${url}/openai`,
    ANTHROPIC_API_KEY: "k2",
    ANTHROPIC_BASE_URL: `${url}/anthropic`,
    GOOGLE_GENERATIVE_AI_API_KEY: "k3",
    GOOGLE_GENERATIVE_AI_BASE_URL: `${url}/google`,
    FAL_API_KEY: "k4",
  };
  const lists = await askForLists(catalogue.entries, (name) => environment[name] ?? null);
  expect(lists.sort((a, b) => (a.provider < b.provider ? -1 : 1))).toEqual([
    { provider: "anthropic", isRead: true, missing: [], ending: [] },
    { provider: "google", isRead: true, missing: [], ending: [] },
    { provider: "openai", isRead: true, missing: ["openai/gpt-6-luna"], ending: ["openai/gpt-6-sol on 2027-06-30"] },
  ]);
  expect(new Set(requests)).toEqual(new Set(["/anthropic/models k2", "/google/models k3", "/openai/models Bearer k1"]));
});

test("a response that is not a list says nothing about models", async () => {
  const { url } = await startLists({});
  const environment: Record<string, string> = { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: url };
  expect(await askForLists(catalogue.entries, (name) => environment[name] ?? null)).toEqual([
    { provider: "anthropic", isRead: false, missing: [], ending: [] },
  ]);
});
