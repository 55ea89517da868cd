/** SQL for enabled models, switched-off models, and the numbers of found models (migrations 0005, 0034). */
import type { Database, Queryable } from "../../platform/database/database.ts";

/** A model that is in no file, found on an OpenAI-compatible server. */
export interface FoundServer {
  readonly provider: string;
  readonly baseUrl: string;
  readonly providerModel: string;
  /** True when the server was queried with OPENAI_API_KEY, which its models then use too; the key itself is not stored. */
  readonly isKeyed: boolean;
}

export interface FoundModel {
  readonly model: string;
  /** Null: a catalogue entry that the server offers. */
  readonly server: FoundServer | null;
}

export interface EnabledRow extends FoundModel {
  /** Public number of a found model; null for catalogue models. */
  readonly index: number | null;
  /** An operator has switched it off. */
  readonly isOff: boolean;
}

export function listEnabled(db: Database): Promise<EnabledRow[]> {
  return db.pipelined<EnabledRow>(
    {
      name: "enabled_models_list",
      text: `select e.model, e.server, i.index, o.model is not null as "isOff" from enabled_models e
       left join model_indexes i on i.model = e.model left join switched_off_models o on o.model = e.model order by e.model`,
    },
    [],
  );
}

export async function listSwitchedOff(db: Database): Promise<Set<string>> {
  const rows = await db.query<{ model: string }>("select model from switched_off_models");
  return new Set(rows.map(({ model }) => model));
}

export async function switchModel(db: Database, model: string, isOff: boolean): Promise<void> {
  const text = isOff
    ? "insert into switched_off_models (model) values ($1) on conflict do nothing"
    : "delete from switched_off_models where model = $1";
  await db.query(text, [model]);
}

/**
 * Sets the configured part of the set to exactly these models. If two processes start at once, the later one wins. If
 * nothing changes, nothing is locked: a process that froze while holding the lock would block every other from starting.
 */
export async function writeConfigured(db: Database, models: readonly string[]): Promise<void> {
  const [current] = await db.query<{ is_same: boolean }>(
    `select coalesce(array_agg(model order by model), '{}') = array(select m from unnest($1::text[]) m order by m collate "C")
       as is_same from enabled_models where not is_found`,
    [models],
  );
  if (current?.is_same === true) return;
  await db.tx(async (tx) => {
    await tx.query("lock table enabled_models in share row exclusive mode");
    await tx.query("delete from enabled_models where not is_found and model <> all ($1::text[])", [models]);
    await tx.query(
      `insert into enabled_models (model) select unnest($1::text[])
       on conflict (model) do update set is_found = false, server = null, missed = 0 where enabled_models.is_found`,
      [models],
    );
  });
}

/** A found model stays until this many probes in a row miss it: a busy server is not gone. */
const PROBES_MISSED_MAX = 3;

/** Records what a probe of all servers found, and gives every new model a number. Locks nothing if nothing changed. */
export async function writeFound(db: Database, found: readonly FoundModel[]): Promise<void> {
  const models = found.map(({ model }) => model);
  const servers = found.map(({ server }) => (server === null ? null : JSON.stringify(server)));
  const [current] = await db.query<{ is_same: boolean }>(
    `select not exists (select from enabled_models where is_found and (model <> all ($1::text[]) or missed > 0))
       and not exists (select from unnest($1::text[], $2::text[]) as f (model, server)
         left join enabled_models e on e.model = f.model
         where e.model is null or (e.is_found and e.server::text is distinct from f.server)) as is_same`,
    [models, servers],
  );
  if (current?.is_same === true) return;
  await db.tx(async (tx) => {
    await tx.query("lock table enabled_models in share row exclusive mode");
    await numberFound(tx, found);
    await tx.query(
      `insert into enabled_models (model, is_found, server) select f.model, true, f.server::json
       from unnest($1::text[], $2::text[]) as f (model, server)
       on conflict (model) do update set server = excluded.server, missed = 0 where enabled_models.is_found`,
      [models, servers],
    );
    await tx.query("update enabled_models set missed = missed + 1 where is_found and model <> all ($1::text[])", [
      models,
    ]);
    await tx.query("delete from enabled_models where is_found and missed >= $1", [PROBES_MISSED_MAX]);
  });
}

async function numberFound(tx: Queryable, found: readonly FoundModel[]): Promise<void> {
  const unknown = found.filter(({ server }) => server !== null).map(({ model }) => model);
  await tx.query(
    `insert into model_indexes (model) select n.model from unnest($1::text[]) as n (model)
     where not exists (select 1 from model_indexes i where i.model = n.model)`,
    [unknown],
  );
}
