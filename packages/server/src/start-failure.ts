import { once } from "node:events";
import { createServer } from "node:net";
import { describeFileFailure, reasonOf } from "./platform/reason-of.ts";
import { isOutage, OUTAGE_POLICY } from "./platform/database/errors.ts";
import { retry } from "./platform/resilience/retry.ts";

/** A process that cannot start for a reason outside the program: the message says what it is and what to do. */
export class StartFailure extends Error {
  override readonly name = "StartFailure";
}

/** @throws StartFailure with the message of whatever `open` throws, in our words where a file is at fault, and `outro`. */
export async function orStartFailure<Result>(
  open: () => Promise<Result>,
  { outro = "" }: { readonly outro?: string } = {},
): Promise<Result> {
  try {
    return await open();
  } catch (cause) {
    if (cause instanceof StartFailure) throw cause; // such as the reason of an aborted start
    throw new StartFailure(`${describeFileFailure(cause) ?? reasonOf(cause)}${outro}`, { cause });
  }
}

/**
 * What a start asks of a database that was there a moment ago: an outage is waited for, and named when it goes on.
 * @param options its signal gives the start up.
 */
export async function throughOutage<Result>(
  work: () => Promise<Result>,
  { signal }: { readonly signal?: AbortSignal | undefined },
): Promise<Result> {
  try {
    return await retry(work, { ...OUTAGE_POLICY, signal });
  } catch (cause) {
    if (!isOutage(cause)) throw cause;
    signal?.throwIfAborted();
    const text = `The database went away during the start: ${reasonOf(cause)}. Start again when it is back.`;
    throw new StartFailure(text, { cause });
  }
}

/** Listening fails for reasons that an operator can name: the port is taken, or the address is not this machine's. */
export async function orListenFailure<Result>(
  { host, port }: { readonly host: string; readonly port: number },
  listen: () => Promise<Result>,
): Promise<Result> {
  try {
    return await listen();
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? cause.code : null;
    const text = {
      EADDRINUSE: `Port ${port} is in use on ${host}. Stop what uses it, or choose another port: PORT, or --port.`,
      EACCES: `Port ${port} is only for privileged processes. Choose one from 1024 on: PORT, or --port.`,
      EADDRNOTAVAIL: `${host} is not an address of this machine. Choose another one: HOST, or --host.`,
      ENOTFOUND: `There is no host "${host}". Choose another address: HOST, or --host.`,
    }[String(code)];
    throw text === undefined ? cause : new StartFailure(text, { cause });
  }
}

/** Listens for a moment, so that a start on a taken port ends before it makes a database. @throws StartFailure. */
export async function checkPort(address: { readonly host: string; readonly port: number }): Promise<void> {
  await orListenFailure(address, async () => {
    const probe = createServer().listen(address);
    await once(probe, "listening");
    probe.close();
    await once(probe, "close");
  });
}
