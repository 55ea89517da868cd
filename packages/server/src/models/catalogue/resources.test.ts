import { expect, test } from "vitest";
import { canonicalJson, hashResources } from "./resources.ts";

test("the published example hashes to the published hash", () => {
  const example = {
    models: [
      {
        model: "sandbox/image",
        modality: "image" as const,
        availableRunOptions: [{ key: "quality", options: ["low", "medium", "high"] }],
      },
      {
        model: "sandbox/text",
        modality: "text" as const,
        availableRunOptions: [{ key: "reasoningEffort", options: ["low", "medium", "high"] }],
      },
      { model: "sandbox/video", modality: "video" as const, availableRunOptions: [] },
    ],
  };
  expect(hashResources(example)).toBe("ebGYfUmEjkaiIcy0CxaEBTf6VAvJlGo8bZH4qZVvR-U");
});

test("the canonical form sorts members by UTF-16 code units at every depth and keeps the order of lists", () => {
  // The example of RFC 8785, section 3.2.3.
  const value = {
    "\u20ac": 1,
    "\r": 2,
    "\ufb33": 3,
    "1": 4,
    "\ud83d\ude00": 5,
    "\u0080": 6,
    "\u00f6": [{ b: 1, a: 2 }],
  };
  expect(canonicalJson(value)).toBe(
    '{"\\r":2,"1":4,"\u0080":6,"\u00f6":[{"a":2,"b":1}],"\u20ac":1,"\ud83d\ude00":5,"\ufb33":3}',
  );
});
