import { expect, test } from "vitest";
import { readAnswer, writeRequest } from "./http-line.ts";

const answer = (head: string, body: string) => Buffer.from(`HTTP/1.1 ${head}\r\n\r\n${body}`);

test("a request is written with the length of its body in bytes", () => {
  const request = {
    method: "POST",
    path: "/v1/runs",
    headers: { authorization: "Bearer k" },
    body: '{"a":"é"}',
  } as const;
  expect(writeRequest(request, "127.0.0.1:1").toString()).toBe(
    'POST /v1/runs HTTP/1.1\r\nhost: 127.0.0.1:1\r\nauthorization: Bearer k\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{"a":"é"}',
  );
});

test("a response is read by its length, and only when all of it has arrived", () => {
  const whole = answer("200 OK\r\nContent-Length: 5", "héllo".slice(0, 4));
  expect(readAnswer(whole)).toEqual({ status: 200, body: "héll" });
  for (let length = 0; length < whole.length; length += 1) expect(readAnswer(whole.subarray(0, length))).toBeNull();
});

test("a chunked response is read to its last chunk", () => {
  const whole = answer("401 Unauthorized\r\ntransfer-encoding: chunked", "3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n");
  expect(readAnswer(whole)).toEqual({ status: 401, body: "abc0123456789" });
  for (let length = 0; length < whole.length; length += 1) expect(readAnswer(whole.subarray(0, length))).toBeNull();
});
