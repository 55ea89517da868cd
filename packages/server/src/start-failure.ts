import { once } from "node:events";
import { createServer } from "node:net";
import { codeOf, describeFileFailure, reasonOf } from "./platform/reason-of.ts";
import { isOutage, OUTAGE_POLICY } from "./platform/database/errors.ts";
import { retry } from "./platform/resilience/retry.ts";

/** A startup failure caused from outside the program. Its message says what is wrong and what to do. */
export class StartFailure extends Error {
  override readonly name = "StartFailure";
}

/** @throws StartFailure with the message of what `open` throws, in plain words for a file error, plus `outro`. */
export async function orStartFailure<Result>(
  open: () => Promise<Result>,
  { outro = "" }: { readonly outro?: string } = {},
): Promise<Result> {
  try {
    return await open();
  } catch (cause) {
    if (cause instanceof StartFailure) throw cause; // such as the reason of an aborted startup
    throw new StartFailure(`${describeFileFailure(cause) ?? reasonOf(cause)}${outro}`, { cause });
  }
}

/** Publishing the marketplace alone may take longer than other work waits out an outage. */
const STEP_RETRY_MS = 60_000;

/**
 * Runs a startup step against a database that was reachable a moment ago. It waits out an outage, and reports a long one.
 * @param options its signal cancels the startup.
 */
export async function throughOutage<Result>(
  work: () => Promise<Result>,
  { signal }: { readonly signal?: AbortSignal | undefined },
): Promise<Result> {
  try {
    return await retry(work, { ...OUTAGE_POLICY, timeoutMs: STEP_RETRY_MS, signal });
  } catch (cause) {
    if (!isOutage(cause)) throw cause;
    signal?.throwIfAborted();
    const text = `The database connection was lost during startup: ${reasonOf(cause)}\nStart again when the database is back.`;
    throw new StartFailure(text, { cause });
  }
}

/**
 * Explains why listening failed: the port is in use, or the address does not belong to this machine.
 * @param portSetting where another port can be chosen.
 */
export async function orListenFailure<Result>(
  { host, port }: { readonly host: string; readonly port: number },
  listen: () => Promise<Result>,
  portSetting = "PORT or --port",
): Promise<Result> {
  try {
    return await listen();
  } catch (cause) {
    const text = {
      EADDRINUSE: `Port ${port} is in use on ${host}. Stop the program that uses it, or choose another port with ${portSetting}.`,
      EACCES: `Port ${port} requires a privileged process. Choose a port of 1024 or higher with ${portSetting}.`,
      EADDRNOTAVAIL: `${host} is not an address of this machine. Choose another address with HOST or --host.`,
      ENOTFOUND: `The host "${host}" does not exist. Choose another address with HOST or --host.`,
    }[String(codeOf(cause))];
    throw text === undefined ? cause : new StartFailure(text, { cause });
  }
}

/** Listens for a moment, so that startup on a port in use fails before it creates a database. @throws StartFailure. */
export async function checkPort(address: { readonly host: string; readonly port: number }): Promise<void> {
  await orListenFailure(address, async () => {
    const probe = createServer().listen(address);
    await once(probe, "listening");
    probe.close();
    await once(probe, "close");
  });
}
