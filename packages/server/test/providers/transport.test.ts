import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { createGuardedFetch } from "../../src/files/index.ts";
import { createTransport } from "../../src/models/providers/transport.ts";
import { startOwnServer } from "./own-server.ts";

const MIB = 2 ** 20;

async function openTransport(reply: (response: ServerResponse) => void) {
  const { url } = await startOwnServer((_request, response) => reply(response));
  const transport = createTransport({
    origins: [url],
    aliases: null,
    idleMs: 60_000,
    download: createGuardedFetch(),
  });
  onTestFinished(() => transport.close());
  const fetch = transport.fetchWithin({ answerBytesMax: 4 * MIB });
  return (signal?: AbortSignal) => fetch(`${url}/answer`, { method: "POST", body: "{}", signal: signal ?? null });
}

test("an event stream much larger than what may be held unread arrives whole, however late it is read", async () => {
  const sent = Buffer.alloc(3 * MIB, "data: a line of an event stream\n\n");
  const fetch = await openTransport((response) =>
    response.writeHead(200, { "content-type": "text/event-stream" }).end(sent),
  );
  const answers = [await fetch(), await fetch()];
  const texts = await Promise.all(answers.map((answer) => answer.text()));
  expect(texts.map((text) => text === sent.toString())).toEqual([true, true]);
});

test("an event stream that its reader leaves ends its connection, and the next request gets another one", async () => {
  const closed = Promise.withResolvers<void>();
  const fetch = await openTransport((response) => {
    response.once("close", () => closed.resolve());
    response.writeHead(200, { "content-type": "text/event-stream" }).write("data: first\n\n");
  });
  const reader = (await fetch()).body?.getReader();
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe("data: first\n\n");
  await reader?.cancel();
  await closed.promise;
  expect((await fetch()).status).toBe(200);
});

test.each(["application/json", "text/event-stream"])(
  "an abort ends an answer of %s that is still arriving, with the reason of the signal",
  async (type) => {
    const responses: ServerResponse[] = [];
    const fetch = await openTransport((response) => {
      responses.push(response);
      response.writeHead(200, { "content-type": type }).write("{");
    });
    const controller = new AbortController();
    const reading = fetch(controller.signal).then((answer) => answer.text());
    reading.catch(() => {}); // expected below
    await expect.poll(() => responses.length).toBe(1);
    const [response] = responses;
    controller.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
    if (response?.closed === false) await once(response, "close");
  },
);
