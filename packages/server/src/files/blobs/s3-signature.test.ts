import { expect, test } from "vitest";
import { authorizeS3, encodeQuery } from "./s3-signature.ts";

// The examples of the service's own documentation ("Authenticating Requests: Using the Authorization Header").
const CREDENTIALS = {
  region: "us-east-1",
  accessKeyId: "AKIAIOSFODNN7EXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
};
const EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const HEADERS = {
  host: "examplebucket.s3.amazonaws.com",
  "x-amz-content-sha256": EMPTY,
  "x-amz-date": "20130524T000000Z",
};

test("a GET with a range is signed as documented", () => {
  const request = { method: "GET", path: "/test.txt", query: {}, headers: { ...HEADERS, range: "bytes=0-9" } };
  expect(authorizeS3(request, CREDENTIALS)).toBe(
    "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request," +
      "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date," +
      "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
  );
});

test("a listing is signed as documented", () => {
  const request = { method: "GET", path: "/", query: { "max-keys": "2", prefix: "J" }, headers: HEADERS };
  expect(authorizeS3(request, CREDENTIALS)).toContain(
    "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
  );
});

test("a query is ordered and encoded as it is signed", () => {
  expect(encodeQuery({ prefix: "a/b c!*'()", "continuation-token": "1+2=", "list-type": "2" })).toBe(
    "continuation-token=1%2B2%3D&list-type=2&prefix=a%2Fb%20c%21%2A%27%28%29",
  );
});
