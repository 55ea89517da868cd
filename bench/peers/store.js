// Runs and balances in PostgreSQL, as a careful developer would add them to a framework that has neither: no two-way
// ledger, no leases, no limits, no keys. Each statement is one transaction, prepared, and flushed to disk.
import { randomUUID } from "node:crypto";
import { Pool } from "pg";

const ACCOUNTS = 50;
const SCHEMA = `
  create table balances (account int primary key, posted bigint not null, held bigint not null default 0, check (held <= posted));
  create table runs (id uuid primary key, account int not null references balances, inputs jsonb not null, output text);
  create table charges (run uuid primary key references runs, account int not null, amount bigint not null);
  insert into balances select account, 1000000000 from generate_series(1, ${ACCOUNTS}) account`;
const CREATE = `
  with held as (update balances set held = held + 1 where account = $2 and posted - held >= 1 returning account)
  insert into runs (id, account, inputs) select $1, account, $3 from held`;
const FINISH = `
  with ended as (update runs set output = $2 where id = $1 and output is null returning id, account),
    charged as (insert into charges (run, account, amount) select id, account, 1 from ended)
  update balances set posted = posted - 1, held = held - 1 from ended where balances.account = ended.account`;

export async function openStore(connectionString) {
  const pool = new Pool({ connectionString, max: 12 }); // as many connections as a process of promptd opens
  await pool.query(SCHEMA);
  let created = 0;
  const one = async (name, text, values) => {
    const { rowCount } = await pool.query({ name, text, values });
    if (rowCount !== 1) throw new Error(`${name} changed ${rowCount} rows, expected 1.`);
  };
  return {
    create: async (inputs) => {
      const id = randomUUID();
      created += 1;
      await one("create", CREATE, [id, (created % ACCOUNTS) + 1, JSON.stringify(inputs)]);
      return id;
    },
    finish: (id, output) => one("finish", FINISH, [id, output]),
  };
}
