/**
 * The seed marketplace gives an empty installation something to find and run from its first start. Its prompts belong
 * to a seed author. Except in production, a demo account gets a key and credits.
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
import { listOwnSlugs, parsePromptFile, publishPrompts, type PromptSource } from "./prompts/index.ts";
import { vacuumIndex } from "./search/index.ts";
import { findLatestVersion, isUnseeded, lockSeed, markSeeded, SEED_AUTHOR } from "./marketplace-seed-store.ts";
import { makeFolder } from "./platform/make-folder.ts";

const DIRECTORY = join(import.meta.dirname, "../seed");
export const DEMO_ACCOUNT = "demo@promptd.invalid";
const DEMO_CREDITS = 10_000;
/** The role that most seed prompts use. Without a model for it, there is nothing to offer. */
const SEED_ROLE = "text-default";

export interface SeedOptions {
  readonly db: Database;
  readonly catalogue: Catalogue;
  readonly newId: () => string;
  readonly log: Log;
  readonly dataDir: string;
  /** False: no demo account, whose key would give access that nobody asked for. */
  readonly withDemoKey: boolean;
  /** Cancels seeding between steps. The next start continues it. */
  readonly signal: AbortSignal;
}

/**
 * Seeds an unused installation once, in whichever process comes first. If a start died partway, the next one continues
 * it and does not touch what already exists.
 * @returns true when this process has seeded it.
 */
export async function seedMarketplace(options: SeedOptions): Promise<boolean> {
  const model = options.catalogue.bind(SEED_ROLE, { images: 0 })?.model;
  if (model === undefined || !options.catalogue.isEnabled(model)) {
    options.log.info("no enabled model can run the seed prompts, so none are published");
    return false;
  }
  return options.db.tx(
    async (tx) => {
      // Held to the end, so that a second process waits and then finds the work done. The work itself commits separately.
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
  const known = await listOwnSlugs(db, authorId);
  const sources = await readSeedFiles(catalogue);
  // Without the sandbox and with a single key, there may be no image model.
  const canRun = ({ definition }: PromptSource) => definition.steps.every((step) => catalogue.isEnabled(step.model));
  const missing = sources.filter((source) => !known.has(source.slug) && canRun(source));
  signal.throwIfAborted();
  await publishPrompts(db, missing, { authorId, catalogue, newId });
  await vacuumIndex(db);
  signal.throwIfAborted();
  if (options.withDemoKey) await createDemoAccount(options);
  const durationMs = Math.round(performance.now() - startedMs);
  log.info({ prompts: missing.length, durationMs }, "published the seed marketplace");
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
  if ((await readDemoKey(options)) !== null) return; // written by a start that died afterwards
  const { apiKey } = await createApiKey(db, newId, { accountId, name: "demo" });
  await makeFolder(dataDir, 0o700);
  // The database has only a hash, but later starts print a command that works.
  await writeFile(demoKeyPath(dataDir), `${apiKey}\n`, { mode: 0o600 });
}

/** The key in this data directory, if it is still valid. */
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
  /** The email address of the key's account. */
  readonly email: string;
  readonly apiKey: string;
  readonly promptVersionId: string;
  /** Inputs for the version. */
  readonly textInputs: Readonly<Record<string, string>>;
}

/** A seed prompt without images and with only one required input. */
const DEMO_SLUG = "tea-label-poem";
const DEMO_INPUTS = { topic: "the first frost of the year" };

/** The demo key in this data directory and a version to run with it; null when no demo key works. */
export async function findDemo(options: Pick<SeedOptions, "db" | "catalogue" | "dataDir">): Promise<Demo | null> {
  const { db, catalogue } = options;
  const apiKey = await readDemoKey(options);
  const version = apiKey === null ? null : await findLatestVersion(db, DEMO_SLUG);
  if (apiKey === null || version === null || !catalogue.isEnabled(version.model)) return null;
  const { accountId } = await getApiKeyByName(db, apiKey);
  const { email } = await getAccountByName(db, accountId); // its owner may have changed the address
  return { email, apiKey, promptVersionId: version.id, textInputs: DEMO_INPUTS };
}
