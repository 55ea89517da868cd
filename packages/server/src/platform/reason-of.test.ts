import { expect, test } from "vitest";
import { reasonOf } from "./reason-of.ts";

test("a failure of several addresses is told as that of each", () => {
  const both = new AggregateError([
    new Error("connect ECONNREFUSED ::1:5432"),
    new Error("connect ECONNREFUSED 127.0.0.1:5432"),
  ]);
  expect(reasonOf(both)).toBe("connect ECONNREFUSED ::1:5432; connect ECONNREFUSED 127.0.0.1:5432");
  expect(reasonOf(new AggregateError([new Error("inner")], "outer"))).toBe("outer");
  expect(reasonOf("no error")).toBe("no error");
});
