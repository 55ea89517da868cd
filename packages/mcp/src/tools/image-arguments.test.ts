import { expect, test } from "vitest";
import type { McpSource } from "../source.ts";
import { readImage } from "./image-arguments.ts";

const SOURCE = { readImageFile: null } as Partial<McpSource> as McpSource;
const PIXELS = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ";

test.each([
  ["https://images.example.org/cat.png", { type: "url", url: "https://images.example.org/cat.png" }],
  [`data:image/png;base64,${PIXELS}`, { type: "base64", base64: PIXELS }],
  [PIXELS, { type: "base64", base64: PIXELS }],
  [`${PIXELS}==\n`, { type: "base64", base64: `${PIXELS}==\n` }],
])("an image may be an address, a data URL, or Base64 (%#)", async (text, image) => {
  expect(await readImage(text, SOURCE)).toEqual(image);
});

test.each(["cat.png", `${PIXELS}=x`])("any other text is refused: %s", async (text) => {
  await expect(readImage(text, SOURCE)).rejects.toThrow("An image must be an https URL, a data URL, or Base64.");
});

test("a mebibyte of white space is read in one pass", async () => {
  const text = `${" ".repeat(2 ** 20)}!`; // going back and forth in it would take hours
  await expect(readImage(text, SOURCE)).rejects.toThrow("An image must be");
});
