/**
 * A proxy between promptd and its database (Unix socket or TCP) that does what networks do: hold everything back, lose
 * connections, lose them after some bytes of a response, and respond late.
 */
import { createConnection, createServer, type NetConnectOpts, type Server, type Socket } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TcpProxy {
  /** The database's URL through this proxy. */
  readonly url: string;
  readonly connections: number;
  /** Resets every connection; new ones are let through. */
  cut(): void;
  /**
   * Resets each connection when the server begins to respond to something sent from now on: its outcome stays unknown.
   */
  cutOnAnswer(): void;
  /**
   * Resets the first connection over which all these texts have been sent, in this order, when the response to the last
   * one begins: exactly that statement was executed, and its outcome stays unknown. Resolves when the connection was
   * cut.
   */
  cutOnAnswerTo(...texts: readonly string[]): Promise<void>;
  /**
   * Simulates a server crash: resets every connection instead of passing the n-th piece of a response, counted from now
   * on, and then as many new connections as `refusals` says. @returns a function that ends it, and says whether it
   * happened.
   */
  crashOnAnswerNumber(n: number, refusals: number): () => boolean;
  /** This many new connections get the response of a server that is starting up. */
  startUp(connections: number): void;
  /** True: nothing passes and nothing is refused, as with a lost route. */
  blackhole(isOn: boolean): void;
  /** Delay of each piece of a response, in milliseconds. */
  delay(ms: number): void;
  /** Response bytes per second, for each connection opened from now on. */
  throttle(bytesPerSecond: number): void;
  close(): Promise<void>;
}

interface Pair {
  readonly near: Socket;
  readonly far: Socket;
  cutsOnAnswer: boolean;
  /** What must still be sent before the response is cut; null: this connection is not watched. */
  awaited: readonly string[] | null;
}

/** A cut that waits for its statement. */
function createTrap(pairs: ReadonlySet<Pair>) {
  let texts: readonly string[] | null = null;
  let sprung = () => {};
  return {
    set: (...wanted: readonly string[]): Promise<void> => {
      texts = wanted;
      return new Promise((resolve) => (sprung = resolve));
    },
    watch: (pair: Pair, sent: Buffer): void => {
      if (texts === null) return;
      pair.awaited ??= texts;
      const [text, ...rest] = pair.awaited;
      if (text === undefined || !sent.includes(text)) return;
      pair.awaited = rest;
      if (rest.length > 0) return;
      texts = null;
      for (const one of pairs) one.awaited = null;
      pair.cutsOnAnswer = true;
      pair.near.once("close", sprung);
    },
  };
}

/** A crash that waits for its response. */
function createCrash(pairs: ReadonlySet<Pair>) {
  let answersLeft = Number.POSITIVE_INFINITY;
  let refusalsLeft = 0;
  return {
    set: (n: number, refusals: number): (() => boolean) => {
      [answersLeft, refusalsLeft] = [n, refusals];
      return () => {
        const hasCrashed = answersLeft <= 0;
        [answersLeft, refusalsLeft] = [Number.POSITIVE_INFINITY, 0];
        return hasCrashed;
      };
    },
    count: (): void => {
      answersLeft -= 1;
      if (answersLeft === 0) cut(pairs);
    },
    refuses: (): boolean => answersLeft <= 0 && refusalsLeft-- > 0,
  };
}

/** A server that is starting up. */
function createStartUp() {
  let connectionsLeft = 0;
  return {
    set: (connections: number): void => {
      connectionsLeft = connections;
    },
    refuses: (near: Socket): boolean => {
      if (connectionsLeft === 0) return false;
      connectionsLeft -= 1;
      refuseWith(near, "57P03", "the database system is starting up");
      return true;
    },
  };
}

function cut(pairs: ReadonlySet<Pair>): void {
  for (const pair of pairs) pair.near.destroy();
}

export async function startTcpProxy(databaseUrl: string): Promise<TcpProxy> {
  const isSocket = socketOf(databaseUrl) !== null;
  const directory = mkdtempSync(join(tmpdir(), "promptd-proxy-"));
  const pairs = new Set<Pair>();
  let isHolding = false;
  const startUp = createStartUp();
  let delayMs = 0;
  let bytesPerSecond = Number.POSITIVE_INFINITY;
  const trap = createTrap(pairs);
  const crash = createCrash(pairs);

  const server = createServer((near) => {
    if (crash.refuses()) near.destroy();
    else if (!startUp.refuses(near)) connect(near);
  });
  const connect = (near: Socket): void => {
    const far = createConnection(placeOf(databaseUrl));
    const pair: Pair = { near, far, cutsOnAnswer: false, awaited: null };
    pairs.add(pair);
    near.on("data", (bytes: Buffer) => trap.watch(pair, bytes)); // before the bytes are passed on: the response may arrive at once
    forward(near, far, () => 0);
    forward(
      far,
      near,
      () => delayMs,
      () => {
        crash.count();
        return pair.cutsOnAnswer;
      },
    );
    const end = () => {
      pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) socket.on("error", end).on("close", end);
    slowDown(far, bytesPerSecond);
    if (isHolding) hold(pair, true);
  };
  const listening = isSocket ? { path: join(directory, ".s.PGSQL.5432") } : { host: "127.0.0.1", port: 0 };
  await new Promise<void>((resolve) => server.listen(listening, resolve));

  return {
    url: proxiedUrl(databaseUrl, { server, directory, isSocket }),
    get connections() {
      return pairs.size;
    },
    cut: () => cut(pairs),
    cutOnAnswer: () => {
      for (const pair of pairs) pair.cutsOnAnswer = true;
    },
    cutOnAnswerTo: trap.set,
    crashOnAnswerNumber: crash.set,
    startUp: startUp.set,
    blackhole: (isOn) => {
      isHolding = isOn;
      for (const pair of pairs) hold(pair, isOn);
    },
    delay: (ms) => {
      delayMs = ms;
    },
    throttle: (wanted) => {
      bytesPerSecond = wanted;
    },
    close: async () => {
      cut(pairs);
      await new Promise((resolve) => server.close(resolve));
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** PostgreSQL's response to a client that it does not admit. */
export function refuseWith(socket: Socket, code: string, message: string): void {
  const fields = `SFATAL\0VFATAL\0C${code}\0M${message}\0\0`;
  const head = Buffer.alloc(5);
  head.write("E");
  head.writeInt32BE(4 + Buffer.byteLength(fields), 1);
  socket.on("error", () => {});
  socket.once("data", () => socket.end(Buffer.concat([head, Buffer.from(fields)])));
}

/** The path of the database's Unix socket; null: it is reached over TCP. */
function socketOf(databaseUrl: string): string | null {
  const directory = /[?&]host=([^&]+)/.exec(databaseUrl)?.[1];
  const port = /[?&]port=(\d+)/.exec(databaseUrl)?.[1] ?? "5432";
  return directory === undefined ? null : join(decodeURIComponent(directory), `.s.PGSQL.${port}`);
}

function placeOf(databaseUrl: string): NetConnectOpts {
  const path = socketOf(databaseUrl);
  if (path !== null) return { path };
  const { hostname, port } = new URL(databaseUrl);
  return { host: hostname, port: Number(port || 5432) };
}

function forward(from: Socket, to: Socket, late: () => number, cuts: () => boolean = () => false): void {
  from.on("data", (bytes: Buffer) => {
    if (cuts()) to.destroy();
    else if (late() === 0) to.write(bytes);
    else setTimeout(() => to.write(bytes), late());
  });
}

/** Reads no more than the line would carry, so that the sender must wait as on a slow line. */
function slowDown(far: Socket, bytesPerSecond: number): void {
  let freeMs = 0;
  far.on("data", (bytes: Buffer) => {
    const nowMs = performance.now();
    freeMs = Math.max(freeMs, nowMs) + (bytes.length / bytesPerSecond) * 1_000;
    const lateMs = freeMs - nowMs;
    if (lateMs < 5) return;
    far.pause();
    setTimeout(() => far.resume(), lateMs);
  });
}

function hold(pair: Pair, isOn: boolean): void {
  for (const socket of [pair.near, pair.far]) {
    if (isOn) socket.pause();
    else socket.resume();
  }
}

function proxiedUrl(url: string, way: { server: Server; directory: string; isSocket: boolean }): string {
  if (way.isSocket) {
    return url
      .replace(/([?&]host=)[^&]+/, `$1${encodeURIComponent(way.directory)}`)
      .replace(/(?<port>[?&]port=)\d+/, "$<port>5432");
  }
  const address = way.server.address();
  const proxied = new URL(url);
  proxied.hostname = "127.0.0.1";
  proxied.port = typeof address === "object" && address !== null ? String(address.port) : "";
  return proxied.href;
}
