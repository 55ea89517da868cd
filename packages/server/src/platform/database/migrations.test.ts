import { describe, expect, test } from "vitest";
import { parseMigration, readMigrations } from "./migrations.ts";

const INDEX = "create index concurrently runs_model\n  on runs (model) where finished_at is null;\n";

describe("the mark of a migration", () => {
  test("is present in every migration of this program", () => {
    expect(readMigrations().length).toBeGreaterThan(8);
  });

  test.each([
    ["-- promptd: compatible\ncreate table x (id int);\n", { isCompatible: true, concurrentIndex: null }],
    ["-- Why.\n-- promptd: incompatible\ndrop table x;\n", { isCompatible: false, concurrentIndex: null }],
    [`-- promptd: compatible, concurrent\n${INDEX}`, { isCompatible: true, concurrentIndex: "runs_model" }],
  ])("is read from %j", (text, expected) => {
    expect(parseMigration("0042-x", text)).toMatchObject({ name: "0042-x", text, ...expected });
  });

  test.each(["create table x (id int);\n", "-- promptd: maybe\ncreate table x (id int);\n"])(
    "is required when it is missing or unknown, by the name of the migration: %j",
    (text) => {
      expect(() => parseMigration("0042-x", text)).toThrow(
        'Migration 0042-x does not say whether older programs can run with it. Add a line "-- promptd: compatible"',
      );
    },
  );

  test.each([
    `-- promptd: compatible\n${INDEX}`,
    "-- promptd: compatible, concurrent\ncreate index runs_model on runs (model);\n",
    `-- promptd: compatible, concurrent\n${INDEX}create table x (id int);\n`,
  ])("does not allow a concurrent index that is not marked or not the only statement: %j", (text) => {
    expect(() => parseMigration("0042-x", text)).toThrow("Migration 0042-x must either be one statement");
  });

  test("is not part of the hash, but the text is", () => {
    const hashOf = (text: string) => parseMigration("0042-x", text).sha256;
    const table = "create table x (id int);\n";
    expect(hashOf(`-- promptd: compatible\n${table}`)).toBe(hashOf(`-- promptd: incompatible\n${table}`));
    expect(hashOf(`-- promptd: compatible\n${table}`)).not.toBe(hashOf(`-- promptd: compatible\n\n${table}`));
  });
});
