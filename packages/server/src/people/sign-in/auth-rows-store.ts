/**
 * Rows of the auth_ tables, for the statements that better-auth requests: it names table, columns, and conditions, and
 * we write the SQL. So it runs on our connections, with our time limits, and needs no driver or query builder of its
 * own.
 */
import { isUuid } from "../../platform/ids.ts";
import type { Queryable } from "../../platform/database/database.ts";

interface Condition {
  readonly field: string;
  readonly operator: string;
  readonly value: unknown;
  readonly connector: "AND" | "OR";
  readonly mode?: "sensitive" | "insensitive";
}

interface Target {
  readonly model: string;
  readonly where?: readonly Condition[] | undefined;
}

interface ManyTarget extends Target {
  readonly limit?: number;
  readonly offset?: number | undefined;
  readonly sortBy?: { readonly field: string; readonly direction: "asc" | "desc" } | undefined;
}

type Row = Record<string, unknown>;

const TABLE = /^auth_[a-z_]+$/;
const COLUMN = /^[a-z][a-z_]*$/;
/** Columns of type uuid, which cannot be compared with any other text. */
const UUID_COLUMNS: ReadonlySet<string> = new Set(["id", "user_id"]);

/** How many of the matching rows to affect. */
type Count = "one" | "all";

/** @param columnOf the column of a field to sort by: everything else comes with column names. */
export function authRows(db: Queryable, columnOf: (model: string, field: string) => string) {
  const select = async ({ model, where, limit, offset, sortBy }: ManyTarget): Promise<Row[]> => {
    const values: unknown[] = [];
    const order =
      sortBy === undefined
        ? ""
        : ` order by ${column(columnOf(model, sortBy.field))} ${sortBy.direction === "asc" ? "asc" : "desc"}`;
    const page = `${limit === undefined ? "" : ` limit ${Math.trunc(limit)}`}${offset === undefined ? "" : ` offset ${Math.trunc(offset)}`}`;
    return db.query<Row>(`select * from ${table(model)}${whereOf(where, values)}${order}${page}`, values);
  };
  const change = (target: Target, sets: readonly Assignment[], count: Count): Promise<Row[]> => {
    const values: unknown[] = [];
    const assigned = sets.map(({ name, value, isAdded }) => {
      values.push(value);
      return `${column(name)} = ${isAdded ? `${column(name)} + ` : ""}$${values.length}`;
    });
    const { model } = target;
    const which = count === "one" ? oneOf(target, values) : whereOf(target.where, values);
    return db.query<Row>(`update ${table(model)} set ${assigned.join(", ")}${which} returning *`, values);
  };
  const remove = (target: Target, count: Count): Promise<Row[]> => {
    const values: unknown[] = [];
    const which = count === "one" ? oneOf(target, values) : whereOf(target.where, values);
    return db.query<Row>(`delete from ${table(target.model)}${which} returning *`, values);
  };
  return {
    create: async ({ model, data }: { readonly model: string; readonly data: Row }): Promise<Row> => {
      const names = Object.keys(data);
      const parameters = names.map((_, i) => `$${i + 1}`).join(", ");
      const text = `insert into ${table(model)} (${names.map(column).join(", ")}) values (${parameters}) returning *`;
      const [row] = await db.query<Row>(text, Object.values(data));
      return row ?? data;
    },
    findOne: async (target: Target) => (await select({ ...target, limit: 1 }))[0] ?? null,
    findMany: select,
    count: async (target: Target): Promise<number> => {
      const values: unknown[] = [];
      const text = `select count(*)::int as n from ${table(target.model)}${whereOf(target.where, values)}`;
      const [row] = await db.query<{ n: number }>(text, values);
      return row?.n ?? 0;
    },
    update: async (target: Target & { readonly update: unknown }) =>
      (await change(target, assignments(target.update), "one"))[0] ?? null,
    updateMany: async (target: Target & { readonly update: Row }) =>
      (await change(target, assignments(target.update), "all")).length,
    incrementOne: async (
      target: Target & { readonly increment: Record<string, number>; readonly set?: Row | undefined },
    ) => {
      const added = Object.entries(target.increment).map(([name, value]) => ({ name, value, isAdded: true }));
      return (await change(target, [...added, ...assignments(target.set ?? {})], "one"))[0] ?? null;
    },
    delete: async (target: Target) => void (await remove(target, "one")),
    deleteMany: async (target: Target) => (await remove(target, "all")).length,
    consumeOne: async (target: Target) => (await remove(target, "one"))[0] ?? null,
  };
}

interface Assignment {
  readonly name: string;
  readonly value: unknown;
  readonly isAdded: boolean;
}

function assignments(values: unknown): Assignment[] {
  return Object.entries(values as Row).map(([name, value]) => ({ name, value, isAdded: false }));
}

function table(model: string): string {
  if (!TABLE.test(model)) throw new Error(`better-auth asked for the table "${model}".`);
  return model;
}

function column(name: string): string {
  if (!COLUMN.test(name)) throw new Error(`better-auth asked for the column "${name}".`);
  return `"${name}"`;
}

/**
 * At most one row, locked first, so that only one of two competing requests gets it; the conditions must still hold
 * under the lock.
 */
function oneOf({ model, where }: Target, values: unknown[]): string {
  const locked = `id = (select id from ${table(model)}${whereOf(where, values)} limit 1 for update)`;
  return ` where ${[locked, ...conditions(where, values)].join(" and ")}`;
}

function whereOf(where: Target["where"], values: unknown[]): string {
  const all = conditions(where, values);
  return all.length === 0 ? "" : ` where ${all.join(" and ")}`;
}

/** All AND conditions must hold, and at least one of the OR conditions if there are any. */
function conditions(where: Target["where"] = [], values: unknown[]): string[] {
  const all = where.filter(({ connector }) => connector !== "OR").map((one) => condition(one, values));
  const some = where.filter(({ connector }) => connector === "OR").map((one) => condition(one, values));
  return some.length === 0 ? all : [...all, `(${some.join(" or ")})`];
}

const COMPARISONS: Readonly<Record<string, string>> = { eq: "=", ne: "<>", lt: "<", lte: "<=", gt: ">", gte: ">=" };

function condition({ field, operator, value, mode }: Condition, values: unknown[]): string {
  const name = column(field);
  const isFolded = mode === "insensitive" && typeof value === "string";
  const left = isFolded ? `lower(${name})` : name;
  const right = (given: unknown) => {
    values.push(isFolded && typeof given === "string" ? given.toLowerCase() : given);
    return `$${values.length}`;
  };
  if (UUID_COLUMNS.has(field) && [value].flat().some((one) => typeof one === "string" && !isUuid(one))) {
    return operator === "eq" || operator === "in" ? "false" : "true";
  }
  if (value === null) return `${name} is ${operator === "ne" ? "not " : ""}null`;
  const comparison = COMPARISONS[operator];
  if (comparison !== undefined) return `${left} ${comparison} ${right(value)}`;
  switch (operator) {
    case "in":
      return `${name} = any(${right(value)})`;
    case "not_in":
      return `not (${name} = any(${right(value)}))`;
    case "contains":
      return `position(${right(value)} in ${left}) > 0`;
    case "starts_with":
      return `starts_with(${left}, ${right(value)})`;
    case "ends_with":
      return `right(${left}, length(${right(value)})) = $${values.length}`;
    default:
      throw new Error(`better-auth asked for the operator "${operator}".`);
  }
}
