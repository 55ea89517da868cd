/** The triggers of an SQL file. Making one locks its table, so one that is already there as written is left alone. */
import type { Tx } from "./database.ts";

export interface Trigger {
  readonly name: string;
  readonly table: string;
  readonly statement: string;
}

const TRIGGER = /^create or replace trigger (?<name>\w+)\s[^;]*?\son (?<table>\w+)\s[^;]*;$/gm;

/** The rest of the text comes first: it has the functions that the triggers call. */
export function splitTriggers(text: string): { readonly rest: string; readonly triggers: readonly Trigger[] } {
  const triggers = [...text.matchAll(TRIGGER)].map(({ 0: statement, groups = {} }) => ({
    name: groups["name"] ?? "",
    table: groups["table"] ?? "",
    statement,
  }));
  return { rest: text.replace(TRIGGER, ""), triggers };
}

export async function applyTrigger(tx: Tx, trigger: Trigger): Promise<void> {
  const existing = await describeTrigger(tx, trigger.name, trigger.table);
  if (existing !== null && existing === (await describeAsWritten(tx, trigger))) return;
  await tx.query(trigger.statement);
}

/** As the server writes it, which changes with its version and not with our spaces. */
async function describeTrigger(tx: Tx, name: string, table: string): Promise<string | null> {
  const [row] = await tx.query<{ definition: string }>(
    `select replace(pg_get_triggerdef(oid, true), ' ON ' || $2 || ' ', ' ') as definition
     from pg_trigger where tgname = $1 and tgrelid = to_regclass($2) and tgenabled = 'O'`,
    [name, table],
  );
  return row?.definition ?? null;
}

const PROBE = "schema_trigger_probe";

/** The server's own words for the statement come from a table of the same columns, which nobody else ever sees. */
async function describeAsWritten(tx: Tx, { name, table, statement }: Trigger): Promise<string | null> {
  await tx.query(`create table ${PROBE} (like ${table})`);
  await tx.query(statement.replace(` on ${table}`, ` on ${PROBE}`));
  const definition = await describeTrigger(tx, name, PROBE);
  await tx.query(`drop table ${PROBE}`);
  return definition;
}
