/**
 * The seed marketplace: what an empty installation offers from its first start on, so that there is something to find
 * and to run. Prompts go to a seed author; a demo account gets a key and credits, unless this is production.
 */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  createAccount,
  createApiKey,
  findAccountByName,
  getAccountByName,
  getApiKeyByName,
  isLiveKey,
  type CreateAccount,
} from "./accounts/index.ts";
import { grantCredits } from "./credits/index.ts";
import type { Catalogue } from "./models/index.ts";
import type { Database } from "./platform/database/database.ts";
import type { Log } from "./platform/log.ts";
import { parsePromptFile, publishPrompts, type PromptSource } from "./prompts/index.ts";
import { vacuumIndex } from "./search/index.ts";
import { findLatestVersion, isUnseeded, listSlugs, lockSeed, markSeeded } from "./marketplace-seed-store.ts";
import { makePrivateDirectory } from "./platform/make-directory.ts";

const DIRECTORY = join(import.meta.dirname, "../seed");
const SEED_AUTHOR = "seed@promptd.invalid";
export const DEMO_ACCOUNT = "demo@promptd.invalid";
const DEMO_CREDITS = 10_000;
/** Of most seed prompts: while no model stands for it, there is nothing to offer. */
const SEED_ROLE = "text-default";

export interface SeedOptions {
  readonly db: Database;
  readonly catalogue: Catalogue;
  readonly newId: () => string;
  readonly log: Log;
  readonly dataDir: string;
  /** False: no demo account, whose key would be a way in that nobody asked for. */
  readonly withDemoKey: boolean;
  /** Gives the seeding up between its steps; the next start goes on with it. */
  readonly signal: AbortSignal;
}

/**
 * Seeds an installation that nobody has used, once, whichever process comes first. A start that died half-way is
 * continued by the next one: what exists already is left alone.
 * @returns true when this process has seeded it.
 */
export async function seedMarketplace(options: SeedOptions): Promise<boolean> {
  const model = options.catalogue.bind(SEED_ROLE, { images: 0 })?.model;
  if (model === undefined || !options.catalogue.isEnabled(model)) {
    options.log.info("no model is enabled that seed prompts could run on, so none is published");
    return false;
  }
  return options.db.tx(
    async (tx) => {
      // Held to the end, so that a second process waits and then finds the work done; the work commits on its own.
      await lockSeed(tx);
      if (!(await isUnseeded(tx, [SEED_AUTHOR, DEMO_ACCOUNT]))) return false;
      await seed(options);
      await markSeeded(tx);
      return true;
    },
    { statementTimeoutMs: 0 },
  );
}

async function seed(options: SeedOptions): Promise<void> {
  const { db, catalogue, newId, log, signal } = options;
  const startedMs = performance.now();
  const author = {
    email: SEED_AUTHOR,
    username: "promptd",
    displayName: "promptd seed catalogue",
    plan: "none",
  } as const;
  const authorId = await findOrCreateAccount(options, author);
  const known = await listSlugs(db, authorId);
  const sources = await readSeedFiles(catalogue);
  // Without the sandbox and with one key, there may be no model for pictures.
  const canRun = ({ definition }: PromptSource) => definition.steps.every((step) => catalogue.isEnabled(step.model));
  const missing = sources.filter((source) => !known.has(source.slug) && canRun(source));
  signal.throwIfAborted();
  await publishPrompts(db, missing, { authorId, catalogue, newId });
  await vacuumIndex(db);
  signal.throwIfAborted();
  if (options.withDemoKey) await createDemoAccount(options);
  const durationMs = Math.round(performance.now() - startedMs);
  log.info({ prompts: missing.length, durationMs }, "the seed marketplace is published");
}

async function findOrCreateAccount({ db, newId }: SeedOptions, account: CreateAccount): Promise<string> {
  const found = await findAccountByName(db, account.email);
  return found?.accountId ?? createAccount(db, newId, account);
}

async function readSeedFiles(catalogue: Catalogue): Promise<PromptSource[]> {
  const names = await readdir(DIRECTORY, { recursive: true });
  const wanted = names.filter((name) => name.endsWith(".prompt.md") || name === "catalogue.json").sort();
  const texts = await Promise.all(wanted.map((name) => readFile(join(DIRECTORY, name), "utf8")));
  return texts.flatMap((text) => parsePromptFile(text, catalogue, { isDescribed: false }));
}

async function createDemoAccount(options: SeedOptions): Promise<void> {
  const { db, newId, dataDir } = options;
  const demo = { email: DEMO_ACCOUNT, username: "demo", displayName: "Demo", plan: "pro" } as const;
  const accountId = await findOrCreateAccount(options, demo);
  const grant = { accountId, amount: DEMO_CREDITS, reason: "demo account", idempotencyKey: "demo", expiresAt: null };
  await grantCredits(db, grant);
  if ((await readDemoKey(options)) !== null) return; // of a start that died after it
  const { apiKey } = await createApiKey(db, newId, { accountId, name: "demo" });
  await makePrivateDirectory(dataDir);
  // Only a hash is in the database, and later starts want to print a command that works.
  await writeFile(demoKeyPath(dataDir), `${apiKey}\n`, { mode: 0o600 });
}

/** The key in this data directory, if it still opens the door. */
async function readDemoKey({ db, dataDir }: Pick<SeedOptions, "db" | "dataDir">): Promise<string | null> {
  const key = await readFile(demoKeyPath(dataDir), "utf8").then(
    (text) => text.trim(),
    () => "",
  );
  return key !== "" && (await isLiveKey(db, key)) ? key : null;
}

function demoKeyPath(dataDir: string): string {
  return join(dataDir, "demo-key");
}

export interface Demo {
  /** Of the account whose key it is. */
  readonly email: string;
  readonly apiKey: string;
  readonly promptVersionId: string;
  /** Inputs that the version takes. */
  readonly textInputs: Readonly<Record<string, string>>;
}

/** Of the seed: free of images and of required inputs but one. */
const DEMO_SLUG = "tea-label-poem";
const DEMO_INPUTS = { topic: "the first frost of the year" };

/** The demo key of this data directory and a version to run with it; null when there is none that works. */
export async function findDemo(options: Pick<SeedOptions, "db" | "catalogue" | "dataDir">): Promise<Demo | null> {
  const { db, catalogue } = options;
  const apiKey = await readDemoKey(options);
  const version = apiKey === null ? null : await findLatestVersion(db, DEMO_SLUG);
  if (apiKey === null || version === null || !catalogue.isEnabled(version.model)) return null;
  const { accountId } = await getApiKeyByName(db, apiKey);
  const { email } = await getAccountByName(db, accountId); // its owner may have another address by now
  return { email, apiKey, promptVersionId: version.id, textInputs: DEMO_INPUTS };
}
