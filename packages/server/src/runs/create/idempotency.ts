import type { CreateRunBody } from "@promptd/contract";
import { createHash } from "node:crypto";
import type { RequestContext } from "../../http/endpoint.ts";
import type { Database, Queryable } from "../../platform/database/database.ts";
import { doInBatches } from "../../platform/periodic-work.ts";
import { invalid, type Problem } from "../../platform/problem.ts";

export interface Idempotency {
  readonly key: string;
  /** SHA-256 of the canonical body, 32 bytes. */
  readonly fingerprint: Buffer;
}

/** Duplicate headers and malformed keys were already rejected. */
export function readIdempotency(context: RequestContext, body: CreateRunBody): Idempotency | null {
  const key = context.header("idempotency-key");
  return key === null ? null : { key, fingerprint: fingerprintOf(body) };
}

/**
 * Two bodies are the same request if their prompt version, inputs, and options match. Absent, null, and empty members
 * count as equal; member order and ignored fields do not count. A text key that the prompt ignores does count: a repeat
 * is recognized before the prompt version is read, which may be unpublished by then.
 */
function fingerprintOf(body: CreateRunBody): Buffer {
  const same = {
    promptVersionId: body.promptVersionId.toLowerCase(),
    textInputs: body.inputs.textInputs ?? {},
    imageInputs: (body.inputs.imageInputs ?? []).map((image) =>
      image.type === "url" ? { type: image.type, url: image.url } : { type: image.type, base64: image.base64 },
    ),
    runOptions: body.runOptions ?? {},
  };
  return createHash("sha256").update(canonicalJson(same)).digest();
}

/** RFC 8785 for the values that JSON.parse can return: members sorted by UTF-16 code units, no whitespace. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(",")}}`;
}

/** The run that this key created earlier, or null. @throws Problem VALIDATION_ERROR if the body differs. */
export async function findRunByIdempotency(
  db: Database,
  accountId: string,
  { key, fingerprint }: Idempotency,
): Promise<string | null> {
  const created = await findCreated(db, accountId, key);
  if (created?.fingerprint.equals(fingerprint) === false) throw keyConflict();
  return created?.run_id ?? null;
}

/** The run that was created with this key, whatever its body was. Null: no such run, or its 24 hours are over. */
export async function findRunByIdempotencyKey(db: Database, accountId: string, key: string): Promise<string | null> {
  return (await findCreated(db, accountId, key))?.run_id ?? null;
}

async function findCreated(db: Database, accountId: string, key: string) {
  const rows = await db.pipelined<{ fingerprint: Buffer; run_id: string }>(
    {
      name: "idempotency_get",
      text: "select fingerprint, run_id from idempotency_keys where account_id = $1 and key = $2 and expires_at > promptd_now()",
    },
    [accountId, key],
  );
  return rows[0];
}

export function keyConflict(): Problem {
  const message = "This Idempotency-Key was already used with a different request.";
  return invalid([{ path: ["header", "Idempotency-Key"], code: "conflict", message }]);
}

const PRUNE_BATCH = 1_000;

/** Removes keys after their 24 hours. */
export async function pruneIdempotencyKeys(db: Queryable, stop?: AbortSignal): Promise<void> {
  const text = `delete from idempotency_keys where (account_id, key) in (
      select account_id, key from idempotency_keys where expires_at < now() - interval '1 minute'
      order by expires_at limit ${PRUNE_BATCH} for update skip locked)
    returning 1`;
  await doInBatches(PRUNE_BATCH, async () => (await db.query(text)).length, stop);
}
