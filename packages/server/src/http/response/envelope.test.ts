import { expect, test } from "vitest";
import { hasManyItems, successPieces, successText } from "./envelope.ts";

const items = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ n, text: `\u2028"é${"x".repeat(2_000)}`, none: null, absent: undefined }));

async function piecesOf(data: object): Promise<string[]> {
  const pieces: string[] = [];
  for await (const piece of successPieces(data)) pieces.push(piece);
  return pieces;
}

test.each([
  { rows: items(300), more: true },
  { absent: undefined, first: items(3), faults: [], message: "two\nlines", nested: { rows: items(2) } },
  {},
])("an answer in pieces has the same text as one in one piece", async (data) => {
  expect((await piecesOf(data)).join("")).toBe(successText(data));
});

test("an answer with many items is written in pieces, between which other work runs", async () => {
  const data = { prompts: items(1_500) };
  expect([hasManyItems(data), hasManyItems({ prompts: items(50) }), hasManyItems(null)]).toEqual([true, false, false]);
  let immediates = 0;
  const count = (): void => {
    immediates += 1;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  const pieces = await piecesOf(data);
  clearImmediate(timer);
  expect(pieces.length).toBeGreaterThan(30);
  expect(immediates).toBeGreaterThan(3);
});
