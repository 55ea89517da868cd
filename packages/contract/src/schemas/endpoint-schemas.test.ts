import { describe, expect, test } from "vitest";
import { ENDPOINTS } from "../endpoints.ts";
import { printable, quoteText } from "../printable-text.ts";
import { endpointSchemas } from "./endpoint-schemas.ts";
import { errorEnvelopeSchema, toIssue } from "./errors.ts";
import { runSchema } from "./runs.ts";
import { unixTimeMs } from "./list-runs.ts";

const ID = "01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a";

test("the schema table has every endpoint", () => {
  expect(Object.keys(endpointSchemas).sort()).toEqual(Object.keys(ENDPOINTS).sort());
});

describe("an id", () => {
  const { params } = endpointSchemas.getRun;
  test.each(["11111111-1111-1111-1111-111111111111", "00000000-0000-0000-0000-000000000000", ID.toUpperCase()])(
    "%s is a UUID of any version and case, and is converted to lower case",
    (runId) => {
      expect(params.parse({ runId })).toEqual({ runId: runId.toLowerCase() });
    },
  );
  test.each(["", "abc", `{${ID}}`, ID.replaceAll("-", ""), `urn:uuid:${ID}`, `${ID} `, `${ID}0`])(
    "%j is not a valid id",
    (runId) => {
      const result = params.safeParse({ runId }, { reportInput: true });
      expect(result.error?.issues.map((issue) => toIssue("path", issue))).toEqual([
        { path: ["path", "runId"], code: "invalid_uuid", message: `runId must be a UUID, got ${quoteText(runId)}.` },
      ]);
    },
  );
});

describe("the list query", () => {
  const issues = (query: unknown) =>
    (endpointSchemas.listRuns.query.safeParse(query, { reportInput: true }).error?.issues ?? []).map((issue) => {
      const { path, message } = toIssue("query", issue);
      return [path.at(-1), message];
    });

  test("accepts since alone, and since before until in either unit", () => {
    expect(issues({ since: "1795169730000" })).toEqual([]);
    expect(issues({ since: "1795169730", until: "1795169731000" })).toEqual([]);
    expect(issues({ since: "1795169730000", until: "1795169730" })).toEqual([
      ["since", "since must be earlier than until."],
    ]);
    expect(issues({ since: "8640000000000001" })).toHaveLength(1);
    expect(unixTimeMs(99_999_999_999)).toBe(99_999_999_999_000);
    expect(unixTimeMs(100_000_000_000)).toBe(100_000_000_000);
  });

  test("refuses both cursors", () => {
    expect(issues({ startingAfter: ID, endingBefore: ID })).toEqual([
      ["endingBefore", "Provide either startingAfter or endingBefore, not both."],
    ]);
  });
});

describe("q", () => {
  const parse = (q: string) => endpointSchemas.searchPrompts.query.safeParse({ q });
  test("is trimmed and composed, and its control characters become spaces", () => {
    expect(parse("  cafe\u0301\u0007 noir\n").data).toEqual({ q: "caf\u00e9  noir" });
  });
  test("has 1 to 200 code points after that", () => {
    expect(parse("👩".repeat(200)).success).toBe(true);
    expect(parse("👩".repeat(201)).success).toBe(false);
    expect(parse(`  ${"x".repeat(200)}  `).success).toBe(true);
    expect(parse(" \t ").success).toBe(false);
  });
});

describe("responses", () => {
  const run = { runId: ID, outputs: [{ type: "text", data: "x" }], runStatus: "succeeded", tokens: 1 };
  test("have exactly the specified members", () => {
    expect(runSchema.safeParse(run).success).toBe(true);
    expect(runSchema.safeParse({ ...run, extra: 1 }).success).toBe(false);
    expect(runSchema.safeParse({ ...run, tokens: undefined }).success).toBe(false);
    expect(runSchema.safeParse({ ...run, runId: ID.toUpperCase() }).success).toBe(false);
  });
  test("of errors always have data, in the form that the code requires", () => {
    const error = (status: string, data?: unknown) =>
      errorEnvelopeSchema.safeParse({ status, message: "m", data }).success;
    expect(error("NOT_FOUND_ERROR", null)).toBe(true);
    expect(error("NOT_FOUND_ERROR")).toBe(false);
    expect(error("GATEWAY_TIMEOUT_ERROR", { runId: ID })).toBe(true);
    expect(error("GATEWAY_TIMEOUT_ERROR", null)).toBe(false);
    expect(error("FORBIDDEN_ERROR", null)).toBe(false);
  });
});

test("a quoted value is cut to 40 code points and cannot control a terminal or reorder the surrounding text", () => {
  expect(quoteText("a\u001b[31m\u0000\ud800")).toBe('"a\\u001b[31m\\u0000\\ud800"');
  expect(quoteText("ab\u202ecod.exe\u2066\u2069\u200f\u061c")).toBe('"ab\\u202ecod.exe\\u2066\\u2069\\u200f\\u061c"');
  expect(quoteText("👩".repeat(41))).toBe(`"${"👩".repeat(40)}…"`);
  expect(printable("👩".repeat(40))).toBe("👩".repeat(40));
});
