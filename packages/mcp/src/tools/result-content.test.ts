import { expect, test } from "vitest";
import { fileName } from "./result-content.ts";

test.each([
  ["https://files.example/outputs/blue%20square.png?sig=1", "blue square.png"],
  ["https://files.example/100%.png", "100%.png"],
  ["https://files.example/%ff.mp4", "%ff.mp4"],
  ["https://files.example/", "file"],
])("the link to %s is named %s", (uri, name) => {
  expect(fileName(uri)).toBe(name);
});
