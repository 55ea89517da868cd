import { errorEnvelopeSchema } from "@promptd/contract/schemas";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CREATE, type EdgeServer, ID, KEY, openEdge, sendRaw, startEdge } from "./http-edge-server.ts";

let edge: EdgeServer;
beforeAll(async () => {
  edge = await startEdge();
});
afterAll(() => edge.http.close());

const JSON_TYPE = { ...KEY, "content-type": "application/json" };

async function refusal(body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = JSON_TYPE) {
  const before = edge.calls.length;
  const response = await edge.post("/v1/runs", body, headers);
  expect(edge.calls.length).toBe(before);
  return { status: response.status, error: errorEnvelopeSchema.parse(await response.json()) };
}

async function accepted(body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = JSON_TYPE) {
  const response = await edge.post("/v1/runs", body, headers);
  expect(response.status).toBe(200);
  return { ignored: response.headers.get("x-ignored"), body: edge.calls.at(-1)?.input.body };
}

function withTexts(textInputs: string): string {
  return `{"promptVersionId":"${ID}","inputs":{"textInputs":${textInputs}}}`;
}

const EMPTY = { promptVersionId: ID, inputs: { textInputs: {}, imageInputs: [] }, runOptions: {} };

describe("a body", () => {
  test.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/xml",
    "nonsense",
    "application/json; a=b",
  ])("of type %s is read as JSON, and no text reaches the handler", async (type) => {
    expect((await accepted(CREATE, { ...KEY, "content-type": type })).body).toEqual(EMPTY);
  });

  test("without a Content-Type is read as JSON", async () => {
    const head = `POST /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nConnection: close\r\n`;
    const answer = await sendRaw(edge.port, `${head}Content-Length: ${CREATE.length}\r\n\r\n${CREATE}`);
    expect(answer.status).toBe(200);
  });

  test("that is not JSON is refused by its type, or with the position", async () => {
    const form = await refusal("a=b", { ...KEY, "content-type": "application/x-www-form-urlencoded" });
    expect(form).toMatchObject({ status: 400, error: { data: null } });
    expect(form.error.message).toContain(
      "(Content-Type: application/x-www-form-urlencoded): unexpected 'a' at position 0",
    );
    const json = await refusal('{"promptVersionId":}');
    expect(json.error.message).toBe("The request body is not valid JSON: unexpected '}' at position 19.");
  });

  test("that is a form upload is 400 without being read", async () => {
    const form = new FormData();
    form.set("a", "b");
    const response = await fetch(`${edge.url}/v1/runs`, { method: "POST", body: form, headers: KEY });
    expect([response.status, response.headers.get("connection")]).toEqual([400, "close"]);
    expect(await response.text()).toContain("(Content-Type: multipart/form-data)");
  });

  test.each([
    ["content-encoding", "gzip"],
    ["content-encoding", "br"],
    ["content-type", "application/json; charset=utf-16"],
    ["content-type", 'text/plain;charset="iso-8859-1"'],
  ])("with %s: %s is 400", async (name, value) => {
    expect((await refusal(CREATE, { ...KEY, [name]: value })).status).toBe(400);
  });

  test("with charset utf-8 in any spelling is read", async () => {
    for (const charset of ["utf-8", "UTF-8", '"utf-8"', "utf8"]) {
      const headers = { ...KEY, "content-type": `application/json; charset=${charset}` };
      expect((await accepted(CREATE, headers)).body).toEqual(EMPTY);
    }
  });

  test("that is empty gets a list of the missing fields", async () => {
    const { status, error } = await refusal("");
    expect(status).toBe(422);
    expect(error.message).toBe("promptVersionId is required. inputs is required.");
  });

  test.each(["[]", '"x"', "5", "null", "true"])("that is %s instead of an object is 422", async (body) => {
    expect((await refusal(body)).error.data).toMatchObject({ issues: [{ path: ["body"], code: "invalid_type" }] });
  });

  test("may start with a byte order mark, and the last of two equal keys wins", async () => {
    expect((await accepted(`\ufeff${CREATE}`)).body).toEqual(EMPTY);
    const { body } = await accepted(withTexts('{"a":"1","a":"2"}'));
    expect(body).toMatchObject({ inputs: { textInputs: { a: "2" } } });
  });

  test("has unknown members, such as runModel, reported as ignored", async () => {
    const body = `{"promptVersionId":"${ID}","inputs":{"more":1},"runModel":"x","später":null}`;
    expect(await accepted(body)).toEqual({ ignored: "runModel, sp%C3%A4ter, inputs.more", body: EMPTY });
  });

  test("may have unknown members in images too: they are reported with the image's index", async () => {
    const url = { type: "url", url: "https://example.com/a.png" };
    const images = [url, { ...url, foo: 1 }, { type: "base64", base64: "aaaa", url: "", ü: 2 }];
    const { ignored } = await accepted(JSON.stringify({ promptVersionId: ID, inputs: { imageInputs: images } }));
    expect(decodeURIComponent(ignored ?? "")).toBe(
      "inputs.imageInputs[1].foo, inputs.imageInputs[2].url, inputs.imageInputs[2].ü",
    );
  });

  test("sent with a GET or a cancel is read to its end and ignored", async () => {
    const head = "Host: x\r\nAuthorization: Bearer good\r\nConnection: close\r\nContent-Length: 3\r\n\r\n{no";
    expect((await sendRaw(edge.port, `GET /v1/me HTTP/1.1\r\n${head}`)).status).toBe(200);
    expect((await sendRaw(edge.port, `POST /v1/runs/${ID}/cancel HTTP/1.1\r\n${head}`)).status).toBe(200);
  });
});

describe("an invalid UTF-8 body", () => {
  const head = Buffer.from(`{"promptVersionId":"${ID}","inputs":{"textInputs":{"a":"`);
  test.each([
    ["a lone continuation byte", [0x80]],
    ["an overlong form", [0xc0, 0xaf]],
    ["an encoded surrogate", [0xed, 0xa0, 0x80]],
    ["a truncated character", [0xe2, 0x82]],
    ["0xff", [0xff]],
  ])("with %s is 400 with its position, never U+FFFD", async (_name, bytes) => {
    const body = new Uint8Array([...head, ...bytes, ...Buffer.from('"}}}')]);
    const { status, error } = await refusal(body);
    expect(status).toBe(400);
    const at = Number(/at byte (\d+)/.exec(error.message)?.[1]);
    expect(at).toBeGreaterThanOrEqual(head.length);
    expect(at).toBeLessThanOrEqual(head.length + bytes.length);
  });

  test.each([
    ["40,000 valid bytes", "é".repeat(20_000)],
    ["a U+FFFD that was sent", "a\ufffd é \ufffd"],
  ])("after %s is found at its position", async (_name, before) => {
    const body = new Uint8Array([...head, ...Buffer.from(before), 0xff]);
    expect((await refusal(body)).error.message).toContain(`(at byte ${head.length + Buffer.byteLength(before)})`);
  });

  test("in UTF-16 is 400", async () => {
    expect((await refusal(new Uint8Array(Buffer.from(`\ufeff${CREATE}`, "utf16le")))).status).toBe(400);
  });
});

describe("texts", () => {
  test.each([
    ["U+0000 in a value", '{"a":"\\u0000"}'],
    ["U+0000 in a key", '{"a\\u0000":"x"}'],
    ["a lone surrogate in a value", '{"a":"\\ud800"}'],
    ["a lone surrogate in a key", '{"\\udfff":"x"}'],
  ])("with %s are 422", async (_name, texts) => {
    const { status, error } = await refusal(withTexts(texts));
    expect([status, error.data]).toMatchObject([422, { issues: [{ code: "invalid_text" }] }]);
  });

  test("with a raw NUL byte are 400", async () => {
    expect((await refusal(withTexts('{"a":"\u0000"}'))).status).toBe(400);
  });

  test("arrive unchanged: other scripts, U+FFFF, combining marks, right to left", async () => {
    const value = "e\u0301 \u00e9 \uffff \ufffd مرحبا \u202e 👩‍👩‍👧";
    const { body } = await accepted(withTexts(JSON.stringify({ "Child's Age [1].x": value })));
    expect(body).toMatchObject({ inputs: { textInputs: { "Child's Age [1].x": value } } });
  });

  test("have their names normalized to NFC, and two names that are then equal are a conflict", async () => {
    expect((await accepted(withTexts('{"e\u0301":"1"}'))).body).toMatchObject({ inputs: { textInputs: { é: "1" } } });
    const { error } = await refusal(withTexts('{"e\u0301":"1","é":"2"}'));
    expect(error.data).toMatchObject({ issues: [{ code: "conflict", path: ["body", "inputs", "textInputs", "é"] }] });
  });

  test("have at most 100 KiB of UTF-8 each, 64 keys, and 1 MiB in total", async () => {
    const limit = 100 * 1024;
    await accepted(withTexts(JSON.stringify({ a: "é".repeat(limit / 2) })));
    const codes = async (texts: object) => (await refusal(withTexts(JSON.stringify(texts)))).error.data;
    expect(await codes({ a: `${"é".repeat(limit / 2)}x` })).toMatchObject({ issues: [{ code: "too_long" }] });
    const keys = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`k${i}`, "x"]));
    expect(await codes(keys)).toMatchObject({ issues: [{ code: "too_many" }] });
    const large = Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`k${i}`, "x".repeat(limit)]));
    expect(await codes(large)).toMatchObject({
      issues: [{ code: "too_long", path: ["body", "inputs", "textInputs"] }],
    });
  });

  test("are never coerced from other types, not in options either", async () => {
    const body = { promptVersionId: ID, inputs: { textInputs: { age: 7, on: true } }, runOptions: { quality: 4 } };
    const { error } = await refusal(JSON.stringify(body));
    expect(error.message).toBe(
      'Text input "age" must be a string, got a number. Text input "on" must be a string, got a boolean. ' +
        'Run option "quality" must be a string, got a number.',
    );
  });
});

describe("names that affect the prototype", () => {
  const PROTO = 'The request body has a member named "__proto__". Remove or rename it.';
  const PROTOTYPE = 'The request body has a member "constructor" that holds "prototype". Remove or rename it.';

  test.each([
    ['{"__proto__":{"x":1}}', PROTO],
    ['{"\\u005f_proto__":1}', PROTO],
    ['{"constructor":{"prototype":{}}}', PROTOTYPE],
  ])("as in %s are 400", async (texts, message) => {
    const answer = await refusal(withTexts(texts));
    expect([answer.status, answer.error.message]).toEqual([400, message]);
    expect(Reflect.ownKeys(Object.prototype)).not.toContain("x");
  });

  test("are ordinary text keys otherwise", async () => {
    const texts = { constructor: "a", prototype: "b", toString: "c", hasOwnProperty: "d" };
    const { body } = await accepted(withTexts(JSON.stringify(texts)));
    expect(body).toMatchObject({ inputs: { textInputs: texts } });
  });
});

describe("a hostile body", () => {
  const nested = (depth: number) => withTexts(`{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`);
  test("may nest 32 levels, but not 33, 10,000, or 500,000", async () => {
    expect((await refusal(nested(29))).status).toBe(422);
    for (const depth of [30, 10_000, 500_000]) {
      const { status, error } = await refusal(nested(depth));
      expect([status, error.message]).toEqual([400, expect.stringContaining("deeper than 32 levels")]);
    }
  });

  test("with brackets and quotes inside texts is counted correctly", async () => {
    const value = `${"[".repeat(100)}\\"{{${"\\\\".repeat(3)}\\"`;
    const { body } = await accepted(withTexts(`{"a":"${value}","b":"x"}`));
    expect(body).toMatchObject({ inputs: { textInputs: { b: "x" } } });
  });

  test("with a million members is refused before it is parsed", async () => {
    const members = Array.from({ length: 1_000_000 }, (_, i) => `"k${i}":"x"`).join(",");
    const { status, error } = await refusal(withTexts(`{${members}}`));
    expect([status, error.message]).toEqual([400, expect.stringContaining("too many members")]);
  });

  test.each(["1".repeat(100_000), "1e400", "-0"])("with a long or odd number is 422", async (number) => {
    expect((await refusal(withTexts(`{"a":${number}}`))).status).toBe(422);
  });

  test("over 64 KiB is 400 on every route except create", async () => {
    const response = await edge.post(`/v1/runs/${ID}/cancel`, "x".repeat(64 * 1024 + 1));
    expect([response.status, response.headers.get("connection")]).toEqual([400, "close"]);
    expect(errorEnvelopeSchema.parse(await response.json()).data).toEqual({
      reason: "BODY_TOO_LARGE",
      maxBytes: 65_536,
    });
    expect((await edge.post(`/v1/runs/${ID}/cancel`, "x".repeat(64 * 1024))).status).toBe(200);
  });

  test("of 28 MiB of Base64 is accepted by create", async () => {
    const image = { type: "base64", base64: "A".repeat(28 * 1024 * 1024) };
    const body = JSON.stringify({ promptVersionId: ID, inputs: { imageInputs: [image] } });
    expect((await accepted(body)).body).toMatchObject({ inputs: { imageInputs: [{ type: "base64" }] } });
  });
});

describe("image inputs", () => {
  const imagesOf = (images: unknown) => JSON.stringify({ promptVersionId: ID, inputs: { imageInputs: images } });

  test("of another type or without one are unsupported_image_type, each named by its position", async () => {
    const { error } = await refusal(imagesOf([{ type: "file" }, {}, { type: "url" }]));
    expect(error.message).toBe(
      'Image 1 has the type "file"; supported types are "url" and "base64". ' +
        'Image 2 has no type; supported types are "url" and "base64". Image 3: url is required.',
    );
  });

  test("whose type is not a text are refused with what it is", async () => {
    const { error } = await refusal(imagesOf([{ type: 5 }, { type: null }, { type: ["url"] }]));
    expect(error.message).toBe(
      'Image 1 has a type that is a number; supported types are "url" and "base64". ' +
        'Image 2 has a type that is null; supported types are "url" and "base64". ' +
        'Image 3 has a type that is an array; supported types are "url" and "base64".',
    );
  });

  test("are at most 32 at this stage, and lose unknown members", async () => {
    const image = { type: "url", url: "https://x.example/a.png", more: 1 };
    expect((await refusal(imagesOf(Array.from({ length: 33 }, () => image)))).status).toBe(422);
    const { body } = await accepted(imagesOf([image]));
    expect(body).toMatchObject({ inputs: { imageInputs: [{ type: "url", url: "https://x.example/a.png" }] } });
    expect(JSON.stringify(body)).not.toContain("more");
  });

  test("are checked by the endpoint's own rules together with the rest of the body", async () => {
    const issue = {
      path: ["body", "inputs", "imageInputs", 0],
      code: "invalid_image",
      message: "Image 1 is bad.",
    } as const;
    const checked: unknown[] = [];
    const createRun = (...given: unknown[]) => {
      checked.push(structuredClone(given));
      return [issue];
    };
    const own = await openEdge({ checks: { createRun } });
    const body = { promptVersionId: "x", inputs: { imageInputs: [{ type: "base64", base64: "AA" }] } };
    const response = await own.post("/v1/runs", JSON.stringify(body), JSON_TYPE);
    const { message } = errorEnvelopeSchema.parse(await response.json());
    expect(message).toBe('promptVersionId must be a UUID, got "x". Image 1 is bad.');
    expect(checked).toMatchObject([[body, [{ path: ["body", "promptVersionId"] }]]]);
  });
});

describe("an Idempotency-Key", () => {
  test.each(["a b", "x".repeat(256), "é"])("of the form %j is 400", async (key) => {
    expect((await refusal(CREATE, { ...JSON_TYPE, "idempotency-key": key })).status).toBe(400);
  });

  test("sent twice is 400", async () => {
    const head = "POST /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nConnection: close\r\n";
    const keys = "Idempotency-Key: a\r\nidempotency-key: a\r\n";
    const answer = await sendRaw(edge.port, `${head}${keys}Content-Length: ${CREATE.length}\r\n\r\n${CREATE}`);
    expect(answer.status).toBe(400);
  });
});
