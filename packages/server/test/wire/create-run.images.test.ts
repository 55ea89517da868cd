/** Image inputs of a run: how many, of which form, and what comes out (specification, "Image input"). */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestCaller, type TestServer } from "../support/test-server.ts";
import { photoPrompt, PNG_BASE64, promptFile } from "../prompts/prompt-files.ts";
import { errorOf, issueLines, issuesOf, postRun, runOf } from "./requests.ts";

let server: TestServer;
let caller: TestCaller;

beforeAll(async () => {
  server = await startTestServer();
  caller = await server.createCaller({ credits: 100_000 });
});
afterAll(() => server.close());

async function post(slots: number, imageInputs: unknown) {
  const { promptVersionId } = await server.publish(photoPrompt(slots));
  return postRun(caller.client, { promptVersionId, inputs: { imageInputs } });
}
const PNG = { type: "base64", base64: PNG_BASE64 };
const URL_IMAGE = { type: "url", url: "https://images.example.org/cat.png" };

describe("a Base64 image", () => {
  test("runs through an image model, and the output is a PNG that anybody can fetch", async () => {
    const run = runOf(await post(1, [PNG]));
    expect(run).toMatchObject({ runStatus: "succeeded", tokens: 4 });
    expect(run.outputs).toHaveLength(1);
    const file = await fetch(run.outputs[0]?.data ?? "");
    const bytes = Buffer.from(await file.arrayBuffer());
    expect([file.status, file.headers.get("content-type")]).toEqual([200, "image/png"]);
    expect(bytes.subarray(0, 8).toString("latin1")).toBe("\u0089PNG\r\n\u001a\n");
  });

  test("reaches the model that asked for it", async () => {
    const fields = "images: [{ label: Photo }]";
    const { promptVersionId } = await server.publish(promptFile({ fields, body: "Describe the photo." }));
    const answer = await postRun(caller.client, { promptVersionId, inputs: { imageInputs: [PNG] } });
    expect(runOf(answer).outputs[0]?.data).toContain("images: 1\npng, 1 x 1, ");
  });

  test("may be wrapped in lines: blanks and line ends do not count", async () => {
    const base64 = (PNG_BASE64.match(/.{1,20}/g) ?? []).join("\r\n \t");
    expect(runOf(await post(1, [{ type: "base64", base64 }])).runStatus).toBe("succeeded");
  });

  test("with other members is accepted, and those are ignored and named in X-Ignored", async () => {
    const image = { ...PNG, url: 7, name: "cat.png", detail: "high" };
    const answer = await post(1, [image]);
    expect(runOf(answer).runStatus).toBe("succeeded");
    const ignored = ["url", "name", "detail"].map((name) => `inputs.imageInputs%5B0%5D.${name}`);
    expect(answer.headers.get("x-ignored")).toBe(ignored.join(", "));
  });

  test.each([
    [
      "a data URL prefix",
      `data:image/png;base64,${PNG_BASE64}`,
      ': remove the prefix "data:image/png;base64," and send only the Base64 text.',
    ],
    ["nothing", "", " is empty. Send the bytes of the file as Base64."],
    [
      "another alphabet",
      PNG_BASE64.replace("A", "_"),
      " is not valid Base64. Send the bytes of the file in the standard alphabet, with padding.",
    ],
    [
      "a missing end",
      PNG_BASE64.slice(0, -1),
      " is not valid Base64. Send the bytes of the file in the standard alphabet, with padding.",
    ],
    [
      "a text file",
      Buffer.from("hello, this is no image at all").toString("base64"),
      " is not a PNG, JPEG, WebP, or GIF image.",
    ],
    [
      "an SVG",
      Buffer.from("<svg xmlns='http://www.w3.org/2000/svg'/>").toString("base64"),
      " is not a PNG, JPEG, WebP, or GIF image.",
    ],
  ])("with %s is 422 invalid_image", async (_, base64, message) => {
    const answer = await post(1, [{ type: "base64", base64 }]);
    expect(answer.httpStatus).toBe(422);
    expect(issuesOf(answer)).toEqual([
      { path: ["body", "inputs", "imageInputs", 0, "base64"], code: "invalid_image", message: `Image 1${message}` },
    ]);
  });

  test("over 10 MiB is 422 that names the limit and the size", async () => {
    const bytes = Buffer.alloc(10_485_761);
    bytes.set(Buffer.from(PNG_BASE64, "base64"));
    const answer = await post(2, [PNG, { type: "base64", base64: bytes.toString("base64") }]);
    expect(errorOf(answer).message).toBe("Image 2 is 10.1 MiB; the limit is 10 MiB.");
  });

  test("that looks like a PNG and is broken fails the run with a fixed message, free of charge", async () => {
    const base64 = Buffer.from(PNG_BASE64, "base64").subarray(0, 40).toString("base64");
    const run = runOf(await post(1, [{ type: "base64", base64 }]));
    expect(run).toMatchObject({ runStatus: "failed", tokens: 0, outputs: [{ type: "error" }] });
  });
});

test("images together over 20 MiB are 422", async () => {
  const bytes = Buffer.alloc(7_340_033);
  bytes.set(Buffer.from(PNG_BASE64, "base64"));
  const image = { type: "base64", base64: bytes.toString("base64") };
  const answer = await post(3, [image, image, image]);
  expect(answer.httpStatus).toBe(422);
  expect(issuesOf(answer)).toMatchObject([{ path: ["body", "inputs", "imageInputs"], code: "invalid_image" }]);
});

describe("the number of images", () => {
  test.each([
    [2, 1, "This prompt expects 2 images, but 1 was given."],
    [1, 0, "This prompt expects 1 image, but 0 were given."],
    [1, 2, "This prompt expects 1 image, but 2 were given."],
  ])("expected %i, given %i is 422 image_count", async (slots, given, message) => {
    const answer = await post(
      slots,
      Array.from({ length: given }, () => PNG),
    );
    expect(answer.httpStatus).toBe(422);
    expect(issuesOf(answer)).toEqual([{ path: ["body", "inputs", "imageInputs"], code: "image_count", message }]);
  });

  test.each([undefined, null, []])("%j is none", async (imageInputs) => {
    expect(issueLines(await post(1, imageInputs))).toEqual(["image_count body.inputs.imageInputs"]);
  });

  test("above 32 is 422 too_many before anything else is checked", async () => {
    const answer = await post(
      1,
      Array.from({ length: 33 }, () => PNG),
    );
    expect(issueLines(answer)).toEqual(["too_many body.inputs.imageInputs"]);
  });

  test("of several slots is stored in order", async () => {
    expect(runOf(await post(4, [PNG, PNG, PNG, PNG])).runStatus).toBe("succeeded");
  });
});

describe("the type of an image", () => {
  test.each([
    ["file", 'Image 1 has the type "file"; supported types are "url" and "base64".'],
    ["BASE64", 'Image 1 has the type "BASE64"; supported types are "url" and "base64".'],
    [undefined, 'Image 1 has no type; supported types are "url" and "base64".'],
  ])("%j is 422 unsupported_image_type", async (type, message) => {
    const answer = await post(1, [{ type, base64: PNG_BASE64, url: URL_IMAGE.url }]);
    expect(answer.httpStatus).toBe(422);
    expect(issuesOf(answer)).toEqual([
      { path: ["body", "inputs", "imageInputs", 0, "type"], code: "unsupported_image_type", message },
    ]);
  });

  test.each(["https://images.example.org/cat.png", 7, null, [PNG]])("%j is no image object", async (image) => {
    expect(issueLines(await post(1, [image]))).toEqual(["invalid_type body.inputs.imageInputs.0"]);
  });

  test.each(["url", "base64"])("%s without its member is 422 required", async (type) => {
    expect(issueLines(await post(1, [{ type }]))).toEqual([`required body.inputs.imageInputs.0.${type}`]);
  });
});

describe("the URL of an image, at create", () => {
  test.each([
    ["http://images.example.org/cat.png", "must begin with https://."],
    ["ftp://images.example.org/cat.png", "must begin with https://."],
    [`data:image/png;base64,${PNG_BASE64}`, "must begin with https://."],
    ["https://localhost/cat.png", "must be publicly accessible."],
    ["https://127.0.0.1/cat.png", "must be publicly accessible."],
    ["https://2130706433/cat.png", "must be publicly accessible."],
    ["https://0x7f.1/cat.png", "must be publicly accessible."],
    ["https://１２７.0.0.1/cat.png", "must be publicly accessible."],
    ["https://169.254.169.254/latest/meta-data", "must be publicly accessible."],
    ["https://[::1]/cat.png", "must be publicly accessible."],
    ["https://[::ffff:10.0.0.1]/cat.png", "must be publicly accessible."],
    ["https://intranet/cat.png", "must be publicly accessible."],
  ])("%s is 422: the URL %s", async (url, rest) => {
    const answer = await post(1, [{ type: "url", url }]);
    expect(answer.httpStatus).toBe(422);
    expect(issuesOf(answer)).toEqual([
      {
        path: ["body", "inputs", "imageInputs", 0, "url"],
        code: "invalid_image",
        message: `Image 1: the URL ${rest}`,
      },
    ]);
  });

  test.each([
    "https://user:secret@images.example.org/cat.png",
    "https://images.example.org:8443/cat.png",
    `https://images.example.org/${"a".repeat(2_048)}`,
    "https://",
    "cat.png",
    "",
  ])("%s is 422", async (url) => {
    const answer = await post(1, [{ type: "url", url }]);
    expect(answer.httpStatus).toBe(422);
    expect(issuesOf(answer)).toHaveLength(1);
  });

  test("with a name that does not resolve is accepted, and the run fails with one fixed message, free of charge", async () => {
    const run = runOf(await post(1, [{ type: "url", url: "https://no-such-host.invalid/cat.png" }]));
    expect(run).toMatchObject({
      runStatus: "failed",
      tokens: 0,
      outputs: [{ type: "error", data: "The image at position 1 could not be fetched." }],
    });
  });
});

test("the problems of all images are reported at once, each image once", async () => {
  const answer = await post(3, [
    { type: "file" },
    { type: "url", url: "http://images.example.org/cat.png" },
    { type: "base64", base64: "?" },
    { type: "url" },
    PNG,
    7,
  ]);
  expect(answer.httpStatus).toBe(422);
  expect(issueLines(answer).toSorted()).toEqual([
    "invalid_image body.inputs.imageInputs.1.url",
    "invalid_image body.inputs.imageInputs.2.base64",
    "invalid_type body.inputs.imageInputs.5",
    "required body.inputs.imageInputs.3.url",
    "unsupported_image_type body.inputs.imageInputs.0.type",
  ]);
});
