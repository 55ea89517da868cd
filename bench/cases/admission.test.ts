import { expect, test } from "vitest";
import type { Database } from "../../packages/server/src/platform/database/database.ts";
import { useTestDatabase } from "../../packages/server/test/support/test-database.ts";
import { placeIn } from "./admission.ts";

let db: Database;
useTestDatabase((opened) => (db = opened.db));

const functionsOf = (answer: string) => `
  create or replace function bench_helper() returns text language plpgsql as $$ begin return '${answer}'; end $$;
  create or replace function bench_outer() returns text language plpgsql as $$ begin return bench_helper(); end $$;`;

test("functions of an earlier commit call their own helpers, whether or not the current commit has helpers of that name", async () => {
  await db.query("create schema earlier");
  await db.query(placeIn("earlier", functionsOf("earlier")));
  expect(await db.query("select earlier.bench_outer() as answer")).toEqual([{ answer: "earlier" }]);
  await db.query(functionsOf("today"));
  expect(await db.query("select earlier.bench_outer() as answer")).toEqual([{ answer: "earlier" }]);
});
