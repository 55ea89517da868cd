import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Problem } from "../../platform/problem.ts";
import { parseJsonBody } from "./json-body.ts";

function refusal(text: string): string {
  try {
    parseJsonBody(Buffer.from(text), "application/json");
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
  throw new Error(`accepted: ${text}`);
}

describe("parseJsonBody", () => {
  test("gives what JSON.parse gives, for every value within the limits", () => {
    const limits = { maxDepth: 20, noUnicodeString: false };
    fc.assert(
      fc.property(fc.json(limits), (text) => {
        fc.pre(!/__proto__|constructor/.test(text));
        expect(parseJsonBody(Buffer.from(text), null)).toEqual(JSON.parse(text));
      }),
    );
  });

  test("refuses whatever JSON.parse refuses, with a position inside the text", () => {
    const broken = fc
      .tuple(fc.json({ maxDepth: 4 }), fc.nat(), fc.constantFrom("}", "]", ",", ":", '"', "\\", "\u0001", "x", "-", ""))
      .map(([text, at, char]) => {
        const cut = at % (text.length + 1);
        return text.slice(0, cut) + char + text.slice(cut + 1);
      });
    fc.assert(
      fc.property(broken, (text) => {
        let isJson = text === "";
        try {
          JSON.parse(text);
          isJson = true;
        } catch {
          // what this property is about
        }
        fc.pre(!isJson);
        const position = Number(/at position (\d+)\.$/.exec(refusal(text))?.[1]);
        expect(position).toBeGreaterThanOrEqual(0);
        expect(position).toBeLessThanOrEqual(text.length);
        // What stands before the position can be the beginning of a JSON text.
        const before = text.slice(0, position);
        expect(refusal(`${before}\u0001`)).toContain(`unexpected U+0001 at position ${position}`);
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ['{"a":}', "unexpected '}' at position 5"],
    ['{"a":1,}', "unexpected '}' at position 7"],
    ['{"a" 1}', "unexpected '1' at position 5"],
    ["[1 2]", "unexpected '2' at position 3"],
    ["{} x", "unexpected 'x' at position 3"],
    ["[01]", "unexpected '0' at position 1"],
    ['{"a":"b\nc"}', "unexpected U+000A at position 7"],
    ['{"a":"\\x"}', "unexpected '\\' at position 6"],
    ["{'a':1}", "unexpected ''' at position 1"],
    ['{"a":"b', "it ends too early, at position 7"],
    ["[1,", "it ends too early, at position 3"],
    [" ", "it ends too early, at position 1"],
    ["[1}", "unexpected '}' at position 2"],
    ["nul", "unexpected 'n' at position 0"],
    ["\u00a0{}", "unexpected U+00A0 at position 0"],
  ])("says of %j: %s", (text, fault) => {
    expect(refusal(text)).toBe(`The request body is not valid JSON: ${fault}.`);
  });

  test("looks at no more than its budget of bytes outside texts", () => {
    const blank = " ".repeat(2_000_000);
    expect(refusal(`${blank}{}`)).toContain("more than 1 MiB outside its texts");
    const quotes = '\\"'.repeat(2_000_000);
    expect(refusal(`{"a":"${quotes}"}`)).toContain("more than 1 MiB outside its texts");
    const text = "a\\n".repeat(1_000_000);
    expect(parseJsonBody(Buffer.from(`{"a":"${text}"}`), null)).toHaveProperty("a");
  });

  test("does not look for a position in a text above 1 MiB", () => {
    expect(refusal(`{"a":"${"x".repeat(1_100_000)}"`)).toContain("larger than 1 MiB");
  });
});
