import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { NETWORK } from "./guarded-connect.ts";

let server: Server;
let port: number;
const accepted: Socket[] = [];

beforeAll(async () => {
  server = createServer((socket) => accepted.push(socket.on("error", () => {})));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  for (const socket of accepted) socket.destroy();
  server.close();
});

const never = new AbortController().signal;

test("the real connector reaches the given address and nothing else, without querying any name server", async () => {
  const socket = await NETWORK.connect({ addresses: ["127.0.0.1"], port }, never);
  expect(socket.remoteAddress).toBe("127.0.0.1");
  socket.destroy();
});

test("the first of several addresses that responds is used", async () => {
  const socket = await NETWORK.connect({ addresses: ["127.0.0.9", "::1", "127.0.0.1"], port }, never);
  expect(socket.remoteAddress).toBe("127.0.0.1");
  socket.destroy();
});

test("a connection that nobody accepts is rejected", async () => {
  await expect(NETWORK.connect({ addresses: ["127.0.0.9", "::1"], port }, never)).rejects.toThrow(/ECONNREFUSED|^$/);
});

test("a connection is aborted when its time is over, before or while it is established", async () => {
  const over = AbortSignal.abort(new Error("its time is over"));
  await expect(NETWORK.connect({ addresses: ["127.0.0.1"], port }, over)).rejects.toThrow("its time is over");
  const stop = new AbortController();
  const connecting = NETWORK.connect({ addresses: ["127.0.0.1"], port }, stop.signal);
  stop.abort(new Error("its time is over"));
  await expect(connecting).rejects.toThrow("its time is over");
});

test("the real resolver returns no address for a name that cannot exist, and stops when its time is over", async () => {
  expect(await NETWORK.resolve("promptd.invalid", AbortSignal.timeout(4_000))).toEqual([]);
  const stop = new AbortController();
  const asking = NETWORK.resolve("promptd.invalid", stop.signal);
  stop.abort();
  expect(await asking).toEqual([]);
});
