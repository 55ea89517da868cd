import { describe, expect, test } from "vitest";
import { ownPath } from "./sign-in.ts";

describe("where a sign-in goes on", () => {
  test("is the page that was asked for, with its search and fragment", () => {
    for (const path of ["/", "/runs?status=failed", "/p/tea?run=1#code"]) expect(ownPath(path)).toBe(path);
  });

  test("is never another host, however a browser would read the address", () => {
    const hosts = ["//evil.example", "/\\evil.example", "/\t/evil.example", "/\n\\evil.example", "/a/..//evil.example"];
    const others = [...hosts, "https://evil.example", "javascript:alert(1)", "runs", "", "//", undefined];
    for (const from of others) expect([from, ownPath(from)]).toEqual([from, "/"]);
  });
});
