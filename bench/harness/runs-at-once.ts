/** Writes as many runs as a case needs directly to the database: creating them would take longer than the measurement. */
import { Client } from "pg";
import type { Queryable } from "../../packages/server/src/platform/database/database.ts";

export interface RunsAtOnce {
  readonly count: number;
  readonly accountIds: readonly string[];
  readonly promptVersionId: string;
  readonly ask: string;
}

/** A separate connection, without the statement timeouts of promptd's connections. */
export async function openLoader(url: string): Promise<Queryable & { close(): Promise<void> }> {
  const client = new Client({ connectionString: url });
  await client.connect();
  return {
    query: async (statement, values = []) => {
      const config = typeof statement === "string" ? { text: statement } : statement;
      return (await client.query({ ...config, values: [...values] })).rows;
    },
    close: () => client.end(),
  };
}

const INPUTS = `json_build_object('textInputs', json_build_object('ask', $4::text), 'images', '[]'::json)`;

/** Waiting free sandbox runs, spread evenly over the accounts. */
export async function queueRuns(db: Queryable, { count, accountIds, promptVersionId, ask }: RunsAtOnce): Promise<void> {
  await db.query(
    `insert into runs (account_id, id, prompt_version_id, run_name, model, run_at, deadline_at, created_at, prices, inputs)
     select ($2::uuid[])[1 + n % cardinality($2::uuid[])], gen_random_uuid(), $3::uuid, 'Echo', 'sandbox/text-free',
       now(), now() + interval '1 day', now(), '{}'::json, ${INPUTS} from generate_series(1, $1::int) n`,
    [count, accountIds, promptVersionId, ask],
  );
}

/** The same runs, but ended long ago. */
export async function addEndedRuns(
  db: Queryable,
  { count, accountIds, promptVersionId, ask }: RunsAtOnce,
): Promise<void> {
  await db.query(
    `insert into runs (account_id, id, prompt_version_id, run_name, model, status, deadline_at, created_at, started_at,
       finished_at, prices, inputs, outputs)
     select ($2::uuid[])[1 + n % cardinality($2::uuid[])], gen_random_uuid(), $3::uuid, 'Echo', 'sandbox/text-free',
       'succeeded', at, at, at, at, '{}'::json, ${INPUTS}, '[{"type":"text","data":"A house in which tea is made."}]'::json
     from generate_series(1, $1::int) n, lateral (select now() - n * interval '1 minute' as at) t`,
    [count, accountIds, promptVersionId, ask],
  );
}
