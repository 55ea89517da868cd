/** Keys of one account, and every admission with the time the limiter counted it under. */
import { createApiKey } from "../../src/accounts/index.ts";
import type { Engine } from "../runs/engine-fixture.ts";

const WINDOW_US = 1_000_000;

/** Records every admission with its time and the start of its statement. */
export async function noteAdmissions(engine: Engine): Promise<void> {
  await engine.db.query(`
    create table admissions (scope_id uuid not null, us bigint not null, statement_at timestamptz not null);
    create function note_admissions() returns trigger language plpgsql as $$ begin
      insert into admissions select new.scope_id, new.times[cardinality(new.times)], statement_timestamp()
        from generate_series(1, new.admitted);
      return null;
    end $$;
    create trigger note_admissions after insert or update on rate_rings for each row execute function note_admissions()`);
}

export async function createKeys(
  engine: Engine,
  count: number,
): Promise<{ accountId: string; apiKeys: string[]; keyIds: string[] }> {
  const accountId = await engine.createAccount();
  const keys = [];
  for (let i = 0; i < count; i += 1)
    keys.push(await createApiKey(engine.db, engine.newId, { accountId, name: "test" }));
  return { accountId, apiKeys: keys.map((key) => key.apiKey), keyIds: keys.map((key) => key.keyId) };
}

export async function admissionsOf(engine: Engine, accountId: string): Promise<number[]> {
  const rows = await engine.db.query<{ us: number }>("select us from admissions where scope_id = $1 order by us", [
    accountId,
  ]);
  return rows.map((row) => row.us);
}

/** Returns the most admissions in any window (t - 1 s, t]. */
export function worstWindow(times: readonly number[]): number {
  return Math.max(0, ...times.map((end) => times.filter((time) => time > end - WINDOW_US && time <= end).length));
}
