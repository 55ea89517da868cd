import { expect, test } from "vitest";
import { toOriginForm } from "./parse-head.ts";

const LONG = "a".repeat(2 ** 20);

// Going back and forth in it would take hours.
test.each([`http://${LONG}/${LONG}#`, `http://${LONG}?${LONG}#`, `http://${LONG}#`])(
  "an invalid target of a mebibyte is read in one pass (%#)",
  (target) => {
    expect(toOriginForm(target, "GET")).toBe(target);
  },
);
