/** An accidental second start next to a running server, on the same data and with another environment. */
import { expect, onTestFinished, test } from "vitest";
import { startTestServer } from "../support/test-server.ts";

test("a second start that finds its port taken does not change what the running server offers", async () => {
  const server = await startTestServer({ environment: { OPENAI_API_KEY: "sk-test" } });
  onTestFinished(() => server.close());
  const { client } = await server.createCaller();
  const before = await client.resources.get();
  const port = new URL(server.url).port;
  await expect(server.startAnother("all", { OPENAI_API_KEY: "", PORT: port })).rejects.toThrow(port);
  const rows = await server.app.db.query("select 1 from enabled_models where model like 'openai/%'");
  expect(rows.length).toBeGreaterThan(0);
  expect((await client.resources.get()).hash).toBe(before.hash);
});
