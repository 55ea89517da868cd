import { createClient } from "@promptd/client";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { explainError } from "./explain-error.ts";

test("https at a server without a certificate is explained without OpenSSL's own words", async () => {
  const server = createServer();
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseUrl = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const error: unknown = await createClient({ baseUrl, apiKey: "pd_x", maxRetries: 0 })
    .me.get()
    .catch((cause: unknown) => cause);
  expect(explainError(error)).toEqual({
    message: `No connection to ${baseUrl}: wrong version number`,
    hint: "This server may not use TLS. If so, its address begins with http://, not https://.",
  });
});
