/**
 * How soon console pages are usable, with as many prompts and runs as in a large installation, and on a slow connection.
 *
 * Needs Chromium (see CONTRIBUTING.md). Times are medians in milliseconds, from
 * opening a URL in a fresh profile until what a person waits for is visible.
 */
import { launchBrowser, signInAs, type Browser, type Page } from "../../packages/console/test/support/browser.ts";
import { buildConsole } from "../../packages/console/test/support/build.ts";
import { loadCatalogue } from "../../packages/server/src/models/index.ts";
import { systemClock } from "../../packages/server/src/platform/clock.ts";
import { createIdSource } from "../../packages/server/src/platform/ids.ts";
import { parsePromptFile, publishPrompts } from "../../packages/server/src/prompts/index.ts";
import { createTestPerson, type TestPerson } from "../../packages/server/test/people/people-fixture.ts";
import {
  openInstallationFixture,
  type InstallationFixture,
} from "../../packages/server/test/support/installation-fixture.ts";
import type { ChaosDatabase } from "../chaos/database-server.ts";
import { defineCase, type Bench } from "../harness/bench-case.ts";
import { onDatabase } from "../harness/on-database.ts";
import { readCorpus, type CorpusPrompt } from "../search/evaluation-data.ts";
import { growCatalogue } from "../search/grown-catalogue.ts";
import { percentile } from "../search/measures.ts";

const QUERY = "portrait of my dog";
/** The time between two keys when typing fast. */
const KEY_MS = 60;
/** "Slow 3G" of the browser's developer tools, in bytes per second. */
const SLOW = { offline: false, latency: 400, downloadThroughput: 50_000, uploadThroughput: 50_000 };

export const consolePages = defineCase({
  sizes: { prompts: [4_098, 200], runs: [100_000, 1_000], rounds: [5, 1] },
  measure: async ({ database, sizes }) => {
    await buildConsole();
    return onDatabase(database, (server) => measure(server, sizes));
  },
});

type Sizes = Bench<"prompts" | "runs" | "rounds">["sizes"];

async function measure(database: ChaosDatabase, sizes: Sizes) {
  const environment = {
    PROMPTD_MANAGE_RATE_LIMIT_PER_SECOND: "1000",
    PROMPTD_LOCAL_MODELS: "off",
    PROMPTD_SIGN_UP_PLAN: "pro",
  };
  const fixture = await openInstallationFixture(database.url, environment);
  const server = await fixture.start("all");
  const { url } = server;
  const person = await createTestPerson({ url, app: { db: fixture.db } });
  await publishCorpus(fixture, person.accountId, sizes.prompts);
  await addRuns(fixture, person, sizes.runs);
  const browser = await launchBrowser();
  try {
    return await measurePages(browser, { url, person, rounds: sizes.rounds });
  } finally {
    await browser.close();
    await server.stop();
    await fixture.close();
  }
}

interface Visitor {
  readonly url: string;
  readonly person: TestPerson;
  readonly rounds: number;
}

/** Skipped when already signed in. */
const SIGN_IN = {
  path: "/sign-in",
  what: (page: Page) => page.getByLabel("Password").waitFor(),
  isSlow: true,
};

async function measurePages(browser: Browser, { url, person, rounds }: Visitor) {
  const open = (path: string, what: (page: Page) => Promise<unknown>, isSlow = false) =>
    medianOf(rounds, () => timeOf(browser, { url, person, path, what, isSlow }));
  const card = (page: Page) => page.getByRole("list", { name: "Prompts" }).getByRole("link").first().waitFor();
  const table = (page: Page) => page.getByRole("table", { name: "Runs" }).getByRole("link").first().waitFor();
  return {
    marketplaceMs: await open("/", card),
    marketplaceSlowMs: await open("/", card, true),
    signInSlowMs: await medianOf(rounds, () => timeOf(browser, { url, person: null, ...SIGN_IN })),
    runsMs: await open("/runs", table),
    failedRunsMs: await open("/runs?status=failed", table),
    runsOfWordsMs: await open("/runs?q=provider", (page) =>
      page.getByRole("main").getByText("provider").first().waitFor(),
    ),
    ...(await measureTyping(browser, url, person)),
    ...(await measureShowMore(browser, url, person)),
  };
}

interface Opening {
  readonly url: string;
  /** Null: nobody is signed in. */
  readonly person: TestPerson | null;
  readonly path: string;
  readonly what: (page: Page) => Promise<unknown>;
  readonly isSlow: boolean;
}

async function timeOf(browser: Browser, { url, person, path, what, isSlow }: Opening): Promise<number> {
  const page = await openPage(browser, url, person);
  if (isSlow) {
    const tools = await page.context().newCDPSession(page);
    await tools.send("Network.enable");
    await tools.send("Network.emulateNetworkConditions", SLOW);
  }
  const startMs = performance.now();
  await page.goto(url + path, { waitUntil: "commit" });
  await what(page);
  const ms = performance.now() - startMs;
  await page.context().close();
  return ms;
}

async function openPage(browser: Browser, url: string, person: TestPerson | null): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 800 } });
  const page = await context.newPage();
  if (person !== null) await signInAs(page, url, person);
  return page;
}

async function medianOf(rounds: number, work: () => Promise<number>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) times.push(await work());
  return Math.round(percentile(times, 0.5));
}

/** The longest time without a frame while somebody types, and from the last key to the results of all words. */
async function measureTyping(browser: Browser, url: string, person: TestPerson) {
  const page = await openPage(browser, url, person);
  await page.goto(url);
  await page.getByRole("list", { name: "Prompts" }).getByRole("link").first().waitFor();
  await page.evaluate(`
    globalThis.gaps = [];
    let last = performance.now();
    const next = (now) => { globalThis.gaps.push(now - last); last = now; requestAnimationFrame(next); };
    requestAnimationFrame(next);
  `);
  await page.getByLabel("Search prompts").pressSequentially(QUERY, { delay: KEY_MS });
  const startMs = performance.now();
  await page.waitForURL(/q=portrait/);
  await page
    .getByRole("status")
    .filter({ hasText: /prompts?/ })
    .waitFor();
  const resultsMs = Math.round(performance.now() - startMs);
  const gaps = await page.evaluate<readonly number[]>("globalThis.gaps");
  await page.context().close();
  return { typingLongestFrameMs: Math.round(Math.max(...gaps)), typingResultsMs: resultsMs };
}

async function measureShowMore(browser: Browser, url: string, person: TestPerson) {
  const page = await openPage(browser, url, person);
  await page.goto(`${url}/runs`);
  const rows = page.getByRole("table", { name: "Runs" }).getByRole("row");
  const times: number[] = [];
  for (let count = 100; count <= 500; count += 50) {
    await page.getByRole("button", { name: "Show more" }).waitFor();
    const startMs = performance.now();
    await page.getByRole("button", { name: "Show more" }).click();
    await rows.nth(count).waitFor();
    times.push(performance.now() - startMs);
  }
  await page.context().close();
  return { showMoreRunsMs: Math.round(percentile(times, 0.5)) };
}

async function publishCorpus(fixture: InstallationFixture, authorId: string, prompts: number): Promise<void> {
  const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => false, sandbox: true });
  const newId = createIdSource(systemClock);
  const seen = new Set<string>();
  const files = growCatalogue(readCorpus(), prompts).map((one, index) => {
    const title = seen.has(one.title.toLowerCase()) ? `${one.title.slice(0, 100)} ${index}` : one.title.slice(0, 120);
    seen.add(title.toLowerCase());
    return fileOf({ ...one, title });
  });
  const sources = files.flatMap((file) => parsePromptFile(file, catalogue));
  for (let from = 0; from < sources.length; from += 200) {
    const some = sources.slice(from, from + 200);
    await publishPrompts(fixture.db, some, { authorId, catalogue, newId });
  }
}

/** JSON strings are valid YAML. */
function fileOf({ title, description, tags }: CorpusPrompt): string {
  const head = {
    promptd: 1,
    title,
    description: description.slice(0, 500),
    model: "sandbox/text",
    tags: tags.filter((tag) => tag.length <= 64).slice(0, 5),
    inputs: { topic: { label: "Topic" } },
  };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  return `---\n${lines.join("\n")}\n---\nWrite about {{ topic }}.\n`;
}

/** A year of runs, one in a hundred of which failed: copies of a run that the account really made. */
async function addRuns({ db, prompts }: InstallationFixture, person: TestPerson, runs: number): Promise<void> {
  const body = { promptVersionId: prompts.free, inputs: { textInputs: { ask: "hello" } } };
  const { runId } = await person.client.send("createRun", { body });
  await db.tx(
    async (tx) => {
      await tx.query(
        `insert into runs (account_id, id, prompt_version_id, run_name, model, status, deadline_at, created_at,
           started_at, finished_at, prices, inputs, outputs, fail_reason)
         select account_id, (prefix || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid, prompt_version_id, run_name, model,
           case when n % 100 = 0 then 'failed' else 'succeeded' end, at, at, at, at + interval '2 seconds', prices, inputs,
           case when n % 100 = 0 then '[{"type":"error","data":"The provider did not answer in time."}]'::json
             else outputs end,
           case when n % 100 = 0 then 'provider_error' end
         from runs r, generate_series(1, $2::int) n,
           lateral (select r.created_at - n * interval '5 minutes' as at) t,
           lateral (select lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') as prefix) p
         where r.id = $1`,
        [runId, runs],
      );
      await tx.query("analyze runs");
    },
    { statementTimeoutMs: 0 },
  );
}
