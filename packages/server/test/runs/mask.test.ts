/** A run of a prompt with a mask: the caller's second image defines which parts of the first one may change. */
import { expect, test } from "vitest";
import { startOwnServer, json } from "../providers/own-server.ts";
import { openaiImages, PNG } from "../providers/provider-answers.ts";
import { startTestServer } from "../support/test-server.ts";
import { overlayFiles } from "../wire/overlay-file.ts";

const writeOverlay = overlayFiles();
const LIMITS = { maxOutputTokens: 0, timeoutMs: 60_000, concurrency: 10 };
const IMAGES = { max: 1, bytes: 1_000_000, maxSide: 1_000, tokens: 0, mask: true };

const EDIT = `---
promptd: 1
title: Change a part
model: here/edit
images: [{ label: Photo }, { label: What changes, mask: true }]
---
A blue door.
`;

test("the mask of a run reaches the model as a mask, beside the image it belongs to", async () => {
  const { url, received } = await startOwnServer((_request, response) => json(response, openaiImages()));
  const model = { index: 10_000, model: "here/edit", provider: "here", providerModel: "edit", modality: "image" };
  const entry = { ...model, status: "active", runOptions: {}, inputs: { images: IMAGES }, price: {}, limits: LIMITS };
  const overlay = writeOverlay({ providers: { here: { baseURL: `${url}/v1` } }, models: [entry] });
  const server = await startTestServer({ environment: { PROMPTD_MODELS_FILE: overlay } });
  try {
    const { promptVersionId } = await server.publish(EDIT);
    const caller = await server.createCaller({ credits: 10 });
    const image = { type: "base64" as const, base64: PNG.toString("base64") };
    const inputs = { imageInputs: [image, image] };
    expect(await caller.client.runs.create({ promptVersionId, inputs })).toMatchObject({ runStatus: "succeeded" });
    const edits = received.filter(({ path }) => path === "/v1/images/edits");
    const names = Array.from(edits[0]?.body.matchAll(/name="([^"]+)"/g) ?? [], ([, name = ""]) => name);
    expect(names.filter((name) => /image|mask/.test(name)).sort()).toEqual(["image", "mask"]);
  } finally {
    await server.close();
  }
});
