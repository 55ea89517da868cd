import { describe, expect, test } from "vitest";
import { ownPath } from "./sign-in.ts";

describe("the address after sign-in", () => {
  test("is the requested page, with its query and fragment", () => {
    for (const path of ["/", "/runs?status=failed", "/p/tea?run=1#code"]) expect(ownPath(path)).toBe(path);
  });

  test("is never on another host, however a browser would parse it", () => {
    const hosts = ["//evil.example", "/\\evil.example", "/\t/evil.example", "/\n\\evil.example", "/a/..//evil.example"];
    const others = [...hosts, "https://evil.example", "javascript:alert(1)", "runs", "", "//", undefined];
    for (const from of others) expect([from, ownPath(from)]).toEqual([from, "/"]);
  });
});
