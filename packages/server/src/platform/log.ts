import { destination, pino, stdTimeFunctions, type DestinationStream, type Logger } from "pino";
import { codeOf } from "./reason-of.ts";

export type Log = Logger;

export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
/**
 * Creates a log of JSON lines, one per request and one per finished run, or of readable text on a terminal. Errors are
 * reduced before they are written, because the detail, where, and parameters of a database error contain row values,
 * and a provider's body may contain a prompt.
 * @param target stderr for commands that write their result to stdout.
 */
export function createLog(level: (typeof LOG_LEVELS)[number], target: "stdout" | "stderr" = "stdout"): Log {
  const stream = target === "stdout" ? process.stdout : process.stderr;
  if (stream.isTTY) return createPino(level, readableStream(stream));
  const file = destination({ fd: stream.fd, sync: true, maxLength: UNWRITTEN_BYTES_MAX });
  const log = createPino(level, file);
  let lost = 0;
  file.on("error", () => {}); // such as a full disk, which must not end the process; the next line is another attempt
  file.on("drop", () => {
    lost += 1;
    file.write(""); // another attempt: a line that is dropped makes none
  });
  file.on("write", () => {
    const lines = lost;
    lost = 0;
    if (lines > 0) log.warn({ lines }, "lines are missing from the log here, because it could not be written");
  });
  return log;
}

/** Lines that wait for a log that cannot be written, such as on a full disk; later ones are lost. */
const UNWRITTEN_BYTES_MAX = 1 << 20;

function createPino(level: (typeof LOG_LEVELS)[number], stream: DestinationStream): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (error: unknown) => describeError(error) },
    },
    stream,
  );
}

interface DescribedError {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: DescribedError;
}

const CAUSES_MAX = 4;

/** Returns the class, message, code, and stack of an error and of its causes; no other member is written. */
export function describeError(error: unknown, depth = 0): DescribedError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const code = codeOf(error);
  const stack = error.stack === undefined ? {} : { stack: error.stack };
  const cause =
    error.cause === undefined || depth >= CAUSES_MAX ? {} : { cause: describeError(error.cause, depth + 1) };
  return { type: error.name, message: error.message, ...(code === null ? {} : { code }), ...stack, ...cause };
}

/** Writes lines for people at a terminal: `12:04:05 info  request finished  route=/v1/me status=200`. */
export function readableStream(stream: { write(text: string): unknown }): DestinationStream {
  return {
    write: (line) => {
      const { time, level, msg, err, ...rest } = JSON.parse(line) as Record<string, unknown>;
      const fields = Object.entries(rest).map(([name, value]) => `${name}=${shortText(value)}`);
      const error =
        err === undefined ? [] : [`\n  ${(err as DescribedError).stack ?? (err as DescribedError).message}`];
      stream.write([String(time).slice(11, 19), String(level).padEnd(5), msg, ...fields, ...error].join(" ") + "\n");
    },
  };
}

function shortText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

export interface FailureLog {
  readonly failed: (error: unknown) => void;
  readonly worked: () => void;
}

/**
 * Logs work that is retried until it succeeds, as during a database outage: one line when it starts to fail and one
 * when it works again. Failures in between are logged at `debug`.
 */
export function createFailureLog(log: Log, fails: string, works: string): FailureLog {
  let isFailing = false;
  return {
    failed: (error) => {
      log[isFailing ? "debug" : "warn"]({ err: error }, fails);
      isFailing = true;
    },
    worked: () => {
      if (isFailing) log.info(works);
      isFailing = false;
    },
  };
}
