import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCodePoint } from "../../../test/support/any-code-point.ts";
import { Problem } from "../../platform/problem.ts";
import { parseJsonBody } from "./json-body.ts";

async function refusal(text: string | Buffer): Promise<string> {
  try {
    await parseJsonBody(Buffer.from(text), "application/json");
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
  throw new Error(`accepted: ${text.toString()}`);
}

describe("parseJsonBody", () => {
  test("returns what JSON.parse returns, for every value within the limits", async () => {
    const limits = { maxDepth: 20, stringUnit: anyCodePoint };
    await fc.assert(
      fc.asyncProperty(fc.json(limits), async (text) => {
        fc.pre(!/__proto__|constructor/.test(text));
        expect(await parseJsonBody(Buffer.from(text), null)).toEqual(JSON.parse(text));
      }),
    );
  });

  test("refuses everything that JSON.parse refuses, with a position inside the text", async () => {
    const broken = fc
      .tuple(fc.json({ maxDepth: 4 }), fc.nat(), fc.constantFrom("}", "]", ",", ":", '"', "\\", "\u0001", "x", "-", ""))
      .map(([text, at, char]) => {
        const cut = at % (text.length + 1);
        return text.slice(0, cut) + char + text.slice(cut + 1);
      });
    await fc.assert(
      fc.asyncProperty(broken, async (text) => {
        let isJson = text === "";
        try {
          JSON.parse(text);
          isJson = true;
        } catch {
          // what this property tests
        }
        fc.pre(!isJson);
        const position = Number(/at position (\d+)\.$/.exec(await refusal(text))?.[1]);
        expect(position).toBeGreaterThanOrEqual(0);
        expect(position).toBeLessThanOrEqual(text.length);
        // The text before the position can be the start of a JSON text.
        const before = text.slice(0, position);
        expect(await refusal(`${before}\u0001`)).toContain(`unexpected U+0001 at position ${position}`);
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
    ['{"a":"b', "unexpected end at position 7"],
    ["[1,", "unexpected end at position 3"],
    [" ", "unexpected end at position 1"],
    ["[1}", "unexpected '}' at position 2"],
    ["nul", "unexpected 'n' at position 0"],
    ["\u00a0{}", "unexpected U+00A0 at position 0"],
  ])("describes %j as: %s", async (text, fault) => {
    expect(await refusal(text)).toBe(`The request body is not valid JSON: ${fault}.`);
  });

  test("examines no more bytes outside texts than its limit", async () => {
    const blank = " ".repeat(2_000_000);
    expect(await refusal(`${blank}{}`)).toContain("more than 1 MiB outside its strings");
    const quotes = '\\"'.repeat(2_000_000);
    expect(await refusal(`{"a":"${quotes}"}`)).toContain("more than 1 MiB outside its strings");
    const text = "a\\n".repeat(1_000_000);
    expect(await parseJsonBody(Buffer.from(`{"a":"${text}"}`), null)).toHaveProperty("a");
  });

  test("does not search for the position in a text above 1 MiB", async () => {
    expect(await refusal(`{"a":"${"x".repeat(1_100_000)}"`)).toContain("larger than 1 MiB");
  });

  test("returns what JSON.parse returns for large bodies, wherever their texts are split", async () => {
    const unit = fc.constantFrom("x", "é", "€", "😀", "\\\\", "\\n", "\\u00e9", "\\ud83d\\ude00", "\\ud83d");
    const repeated = fc.tuple(unit, fc.nat(7)).map(([one, shift]) => "y".repeat(shift) + one.repeat(120_000));
    await fc.assert(
      fc.asyncProperty(fc.array(repeated, { minLength: 1, maxLength: 3 }), async (texts) => {
        const text = `\ufeff{"list":["${texts.join('","')}"],"more":{"a":"${"z".repeat(1_200_000)}","b":"small"},"n":1}`;
        expect(await parseJsonBody(Buffer.from(text), null)).toEqual(JSON.parse(text.slice(1)));
      }),
      { numRuns: 30 },
    );
  });

  test.each([
    ["a control character", "\n"],
    ["an unknown escape", "\\x"],
    ["half an escape at its end", "\\u00"],
  ])("refuses a large body with %s in a text", async (_, fault) => {
    expect(await refusal(`{"a":"${"x".repeat(2_000_000)}${fault}"}`)).toContain("is not valid JSON");
  });

  test("refuses a large text without an end, and one with invalid UTF-8 by its first invalid byte", async () => {
    const open = Buffer.from(`{"a":"${"x".repeat(2_000_000)}`);
    expect(await refusal(open)).toContain("is not valid JSON");
    const bytes = Buffer.from(`{"a":"${"x".repeat(2_000_000)}"}`);
    bytes[1_500_000] = 0xff;
    expect(await refusal(bytes)).toBe("The request body is not valid UTF-8 (at byte 1500000).");
  });

  test("lets other work run while it reads 31 MiB: one text, or as many texts of 3 KiB as members are allowed", async () => {
    for (const text of [`{"a":"${"x".repeat(31 << 20)}"}`, JSON.stringify(Array(10_000).fill("x".repeat(3_200)))]) {
      let turns = 0;
      const timer = setInterval(() => (turns += 1), 0);
      const value = await parseJsonBody(Buffer.from(text), null);
      clearInterval(timer);
      expect(turns).toBeGreaterThan(5);
      expect(value).toEqual(JSON.parse(text));
    }
  });

  test("refuses a name longer than 1,024 bytes in a large body, whose names are parsed all at once", async () => {
    const name = "n".repeat(1_025);
    const rest = `"b":"${"x".repeat(2_000_000)}"`;
    expect(await refusal(`{"${name}" : 1,${rest}}`)).toBe(
      "The request body is larger than 1 MiB and has a member name longer than 1,024 bytes (before byte 1029).",
    );
    expect(await parseJsonBody(Buffer.from(`{"${name.slice(1)}":1,${rest}}`), null)).toHaveProperty(name.slice(1));
    expect(await parseJsonBody(Buffer.from(`{"${name}":1}`), null)).toHaveProperty(name);
  });

  test("refuses a member named __proto__ in a large body", async () => {
    expect(await refusal(`{"a":"${"x".repeat(2_000_000)}","b":{"__proto__":{}}}`)).toContain('named "__proto__"');
  });
});
