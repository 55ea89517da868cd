import { expect, test } from "vitest";
import { nameIn } from "./format.ts";

test("a name that turns the words behind it does so in no sentence", () => {
  expect(`Revoke “${nameIn("shop \u202egnihtyreve\u2067")}”?`).toBe("Revoke “shop gnihtyreve”?");
  expect(`Remove ${nameIn("\u2069אדה")}?`).toBe("Remove \u2068אדה\u2069?");
  expect(nameIn("Ada")).toBe("Ada");
});
