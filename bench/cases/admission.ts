/**
 * The cost of the admission statement compared with an earlier commit: both run in turn on one PostgreSQL, in rotated
 * order, so that the ratio is valid even on a busy machine. Requires --before COMMIT.
 */
import { execFileSync } from "node:child_process";
import { createAccount, createApiKey, hashApiKey } from "../../packages/server/src/accounts/index.ts";
import { isoTime, systemClock } from "../../packages/server/src/platform/clock.ts";
import { openDatabase, type Database } from "../../packages/server/src/platform/database/database.ts";
import { createIdSource } from "../../packages/server/src/platform/ids.ts";
import { createLog } from "../../packages/server/src/platform/log.ts";
import { defineCase } from "../harness/bench-case.ts";
import { onDatabase } from "../harness/on-database.ts";
import { percentile } from "../search/measures.ts";

const SQL_FILE = "packages/server/src/accounts/sql/key-plan-and-rate-limit.sql";
const CALLERS = [1, 8, 64] as const;
const ACCOUNTS = 50;
const KEYS_PER_ACCOUNT = 4;
const LIMIT_PER_SECOND = 5;
const SCHEMA = "earlier";
const WARM_UP_ROUNDS = 100;

const newId = createIdSource(systemClock);
const text = (commit: string) => execFileSync("git", ["show", `${commit}:${SQL_FILE}`], { encoding: "utf8" });

interface Statement {
  readonly name: string;
  readonly text: string;
}

/** The statement with which the process calls the function: all of its columns. */
function statementOf(sql: string, schema: string): Statement {
  const [, name, columns] = /function (admit\w*)\(p_hashes.*?returns table \(([^)]*)\)/s.exec(sql) ?? [];
  if (name === undefined || columns === undefined) throw new Error(`${SQL_FILE} has no admission function.`);
  const names = columns.split(",").map((column) => column.trim().split(/\s+/)[0]);
  return { name: `${schema}_${name}`, text: `select ${names.join(", ")} from ${schema}.${name}($1, $2, $3)` };
}

/**
 * Moves functions and their calls of one another to a schema. Otherwise, PL/pgSQL would look up helpers in the caller's
 * search path, and find the current helper or none.
 */
export function placeIn(schema: string, sql: string): string {
  const names = [...sql.matchAll(/function (\w+)\(/g)].map(([, name]) => name);
  return sql.replaceAll(new RegExp(String.raw`\b(${names.join("|")})\(`, "g"), `${schema}.$1(`);
}

async function createKeys(db: Database): Promise<Buffer[]> {
  const hashes: Buffer[] = [];
  for (let account = 0; account < ACCOUNTS; account += 1) {
    const accountId = await createAccount(db, newId, { email: `caller-${account}@example.org`, plan: "pro" });
    for (let key = 0; key < KEYS_PER_ACCOUNT; key += 1) {
      const terms = key % 2 === 0 ? {} : { expiresAt: isoTime(systemClock.nowMs() + 86_400_000), monthlyCap: 100 };
      const { apiKey } = await createApiKey(db, newId, { accountId, name: `key ${key}`, ...terms });
      hashes.push(hashApiKey(apiKey));
    }
  }
  return hashes;
}

/** `together`: in one statement, as one process sends them. `apart`: each in its own statement, as many processes do. */
const WAYS = {
  together: (db: Database, statement: Statement, hashes: readonly Buffer[]) => send(db, statement, hashes),
  apart: (db: Database, statement: Statement, hashes: readonly Buffer[]) =>
    Promise.all(hashes.map((hash) => send(db, statement, [hash]))),
} as const;

function send(db: Database, { name, text: sql }: Statement, hashes: readonly Buffer[]): Promise<unknown> {
  return db.query({ name, text: sql }, [hashes, LIMIT_PER_SECOND, false]);
}

interface Comparison {
  readonly statements: readonly Statement[];
  readonly hashes: readonly Buffer[];
  readonly way: keyof typeof WAYS;
  readonly callers: number;
  readonly rounds: number;
}

/** Medians in milliseconds, and the cost of the second statement relative to the first. */
async function compare(db: Database, { statements, hashes, way, callers, rounds }: Comparison) {
  const times = new Map(statements.map((statement) => [statement, [] as number[]]));
  for (let round = -WARM_UP_ROUNDS; round < rounds; round += 1) {
    const start = (Math.abs(round) * 7) % hashes.length;
    const given = Array.from({ length: callers }, (_, at) => hashes[(start + at * 3) % hashes.length] ?? Buffer.of());
    for (const statement of round % 2 === 0 ? statements : statements.toReversed()) {
      const began = performance.now();
      await WAYS[way](db, statement, given);
      if (round >= 0) times.get(statement)?.push(performance.now() - began);
    }
  }
  const [beforeMs = 0, nowMs = 0] = statements.map((statement) => percentile(times.get(statement) ?? [], 0.5));
  return { beforeMs, nowMs, ratio: Math.round((nowMs / beforeMs) * 1_000) / 1_000 };
}

export const admission = defineCase({
  sizes: { rounds: [2_000, 50] },
  measure: async ({ before, database, sizes }) => {
    if (before === null) throw new Error("--before COMMIT is missing. It names the commit to compare with.");
    return onDatabase(database, ({ url }) => measure(url, before, sizes.rounds));
  },
});

async function measure(url: string, before: string, rounds: number) {
  const db = await openDatabase({
    url,
    role: "bench",
    log: createLog("silent", "stderr"),
    poolMax: 64,
    staysOpen: true,
  });
  try {
    const earlier = text(before);
    await db.query(`create schema ${SCHEMA}`);
    await db.query(placeIn(SCHEMA, earlier));
    const statements = [statementOf(earlier, SCHEMA), statementOf(text("HEAD"), "public")] as const;
    const hashes = await createKeys(db);
    // Every scope has its ring, and the planner knows it. Its plans for empty tables would say nothing about the statement.
    for (const statement of statements) await send(db, statement, hashes);
    await db.query("analyze api_keys, accounts, rate_rings");
    const results = [];
    for (const way of ["together", "apart"] as const)
      for (const callers of CALLERS)
        results.push({ way, callers, ...(await compare(db, { statements, hashes, way, callers, rounds })) });
    return { before, limit: "ratio at most 1.1", results };
  } finally {
    await db.close();
  }
}
