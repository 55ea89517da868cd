import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { anyCodePoint } from "../../../test/support/any-code-point.ts";
import { directiveFault, readDirectives } from "./directives.ts";

function read(...texts: string[]) {
  const reading = readDirectives(texts, null);
  if (reading.kind === "faulty") throw new Error(`faulty: ${reading.word}`);
  return reading;
}

describe("the directive grammar", () => {
  test("a text without directives is returned byte for byte", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCodePoint }), (text) => {
        fc.pre(!text.includes("sandbox:"));
        expect(read(text)).toEqual({ kind: "read", directives: {}, texts: [text] });
      }),
    );
  });

  test.each([
    ["delay=0", { delay: 0 }],
    ["delay=600000", { delay: 600_000 }],
    ["error=529", { error: 529 }],
    ["error=500 retryafter=3600", { error: 500, retryafter: 3_600 }],
    ["flaky=3", { flaky: 3 }],
    ["quota", { quota: true }],
    ["reset", { reset: true }],
    ["hang", { hang: true }],
    ["garble", { garble: true }],
    ["refuse", { refuse: true }],
    ["empty", { empty: true }],
    ["partial=0", { partial: 0 }],
    ["tokens=100000", { tokens: 100_000 }],
    ["input=5000000", { input: 5_000_000 }],
    ["nousage", { nousage: true }],
    ["dirty", { dirty: true }],
    ["size=102400", { size: 102_400 }],
  ])("'%s' is read", (words, directives) => {
    expect(read(`sandbox: ${words}`).directives).toEqual(directives);
  });

  test.each([
    ["sandbox: delai=5", "delai=5"],
    ["sandbox: Delay=5", "Delay=5"],
    ["sandbox: delay", "delay"],
    ["sandbox: delay=", "delay="],
    ["sandbox: delay=600001", "delay=600001"],
    ["sandbox: delay=-1", "delay=-1"],
    ["sandbox: delay=1.5", "delay=1.5"],
    ["sandbox: delay=1e3", "delay=1e3"],
    ["sandbox: error=418", "error=418"],
    ["sandbox: retryafter=3601", "retryafter=3601"],
    ["sandbox: flaky=0", "flaky=0"],
    ["sandbox: flaky=4", "flaky=4"],
    ["sandbox: tokens=0", "tokens=0"],
    ["sandbox: tokens=100001", "tokens=100001"],
    ["sandbox: size=0", "size=0"],
    ["sandbox: size=102401", "size=102401"],
    ["sandbox: quota=1", "quota=1"],
    ["sandbox: constructor", "constructor"],
    ["sandbox: empty\tdirty", "empty\tdirty"],
    ["sandbox: empty empty", "empty"],
    ["sandbox: delay=1\nsandbox: delay=2", "delay=2"],
    ["sandbox:delay=5", "sandbox:delay=5"],
    ["sandbox:", "sandbox:"],
  ])("%j is refused, naming %j", (text, word) => {
    expect(readDirectives([text], null)).toEqual({ kind: "faulty", word });
  });

  test("directive lines are removed from every text, whatever their line endings and surrounding spaces", () => {
    const reading = read(
      "Be kind.\r\n  sandbox:  empty   dirty \r\nAlways.",
      "sandbox: delay=5\nA poem\nsandbox: hang",
    );
    expect(reading.directives).toEqual({ empty: true, dirty: true, delay: 5, hang: true });
    expect(reading.texts).toEqual(["Be kind.\r\nAlways.", "A poem\n"]);
  });

  test("a directive counts only at the beginning of a line", () => {
    const text = "Explain what sandbox: hang means";
    expect(read(text)).toEqual({ kind: "read", directives: {}, texts: [text] });
  });

  test("a directive that appears in two texts counts as repeated", () => {
    expect(readDirectives(["sandbox: empty", "sandbox: empty"], null)).toEqual({ kind: "faulty", word: "empty" });
  });
});

describe("directives that only the author may write", () => {
  const AUTHORS =
    "Be kind.\nsandbox: delay=5\n{% if slow %}sandbox: tokens=7{% endif %}\nsandbox: {{ do }}\n{{ topic }}";
  const readBy = (text: string, authorsText = AUTHORS) => readDirectives([text], authorsText);

  test("are lines that appear in the prompt verbatim, including between two tags of its template", () => {
    const reading = readBy("Be kind.\n  sandbox: delay=5\r\nsandbox: tokens=7\nfrost");
    expect(reading).toEqual({ kind: "read", directives: { delay: 5, tokens: 7 }, texts: ["Be kind.\nfrost"] });
  });

  test.each([
    "sandbox: error=500",
    "sandbox: delay=50",
    "sandbox: delay=5 hang",
    "sandbox: nonsense",
    "sandbox:delay=5",
    "sandbox: {{ do }}",
  ])("are not what a caller writes: %j stays in the text", (line) => {
    const text = `Be kind.\n${line}\nfrost`;
    expect(readBy(text)).toEqual({ kind: "read", directives: {}, texts: [text] });
  });

  test("do not exist if the author wrote none, whatever the text contains", () => {
    const text = "sandbox: hang\nsandbox: quota";
    expect(readBy(text, "About {{ topic }}")).toEqual({ kind: "read", directives: {}, texts: [text] });
  });

  test("include the author's own mistakes", () => {
    expect(readBy("sandbox: dealy=5", "sandbox: dealy=5\nfrost")).toEqual({ kind: "faulty", word: "dealy=5" });
  });
});

describe("the message about a faulty directive", () => {
  test("is a 400 that quotes the word", () => {
    expect(directiveFault("delai=5")).toMatchObject({
      kind: "directive",
      httpStatus: 400,
      code: "bad_request",
      message: "Sandbox: unknown or invalid directive 'delai=5'.",
    });
  });

  test("escapes control characters and cuts long words, since clients print it to terminals", () => {
    expect(directiveFault("\u001b[2J").message).toBe("Sandbox: unknown or invalid directive '\\u001b[2J'.");
    expect(directiveFault("é".repeat(50)).message).toBe(`Sandbox: unknown or invalid directive '${"é".repeat(40)}…'.`);
  });
});
