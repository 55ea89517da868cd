/**
 * The console's built files. They are all read into memory at the first page request, so a build that replaces them
 * while the server runs cannot mix two versions in one page.
 */
import { createHash } from "node:crypto";
import { access, readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { Readable } from "node:stream";
import { FALLBACK_PATH, ownEndpoint, type Endpoint, type StreamAnswer, type ServerContext } from "../http/endpoint.ts";
import { takesBrotli } from "../http/response/compress.ts";
import { namesEntityTag } from "../http/response/entity-tag.ts";
import { Problem } from "../platform/problem.ts";
import { codeOf } from "../platform/reason-of.ts";
import { loadOnce } from "../platform/resilience/load-once.ts";

interface ConsoleOptions {
  /** The directory of the build: `index.html` and the files it loads. */
  readonly directory: string;
  /** The address at which callers reach the server, and with which addresses of generated files begin. */
  readonly publicUrl: () => string;
}

interface StaticFile {
  readonly type: string;
  readonly plain: Buffer;
  /** The file as the build compressed it; null: compression would not make it smaller. */
  readonly brotli: Buffer | null;
  /** Weak, because the plain and the compressed form share it. */
  readonly etag: string;
  /** True: the name contains a hash of the content. */
  readonly isImmutable: boolean;
}

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".md": "text/markdown; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".woff2": "font/woff2",
};
const HASHED = /^\/assets\//;
const INDEX = "/index.html";

/** @returns the endpoint of the console; null when it has not been built. */
export async function consoleEndpoint(options: ConsoleOptions): Promise<Endpoint | null> {
  const isBuilt = await access(join(options.directory, INDEX)).then(() => true, orFalse);
  if (!isBuilt) return null;
  // A read fails for example while a build replaces the files; the next page request repeats it.
  const readAll = loadOnce(() => readFiles(options.directory));
  const answer = async (context: ServerContext): Promise<StreamAnswer> => {
    const files = await readAll();
    const path = pathOf(context.request.url ?? "/");
    // Every other path is a page of the application, which does its own routing; a missing asset is not a page.
    const file = files.get(path) ?? (HASHED.test(path) ? undefined : files.get(INDEX));
    if (file === undefined) throw missingAsset();
    return answerFile(file, context, options.publicUrl());
  };
  return ownEndpoint({ method: "GET", path: FALLBACK_PATH, handle: (_input, context) => answer(context) });
}

async function readFiles(directory: string): Promise<ReadonlyMap<string, StaticFile>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const names = new Map<string, string>();
  for (const entry of entries) {
    const whole = join(entry.parentPath, entry.name);
    if (entry.isFile()) names.set(whole.slice(directory.length).replaceAll("\\", "/").replace(/^\/?/, "/"), whole);
  }
  const files = new Map<string, StaticFile>();
  for (const [path, whole] of names) {
    const type = TYPES[extname(path)];
    if (type !== undefined) files.set(path, await readStatic(path, whole, type, names.get(`${path}.br`)));
  }
  return files;
}

/** @param brotli name of the compressed file. */
async function readStatic(path: string, whole: string, type: string, brotli: string | undefined): Promise<StaticFile> {
  const plain = await readFile(whole);
  return {
    type,
    plain,
    brotli: brotli === undefined ? null : await readFile(brotli),
    etag: `W/"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`,
    isImmutable: HASHED.test(path),
  };
}

/** A missing file means that the console is not built. */
function orFalse(error: unknown): false {
  if (codeOf(error) === "ENOENT") return false;
  throw error;
}

/** The decoded path without the query; a path with invalid encoding names no file. */
function pathOf(url: string): string {
  const [path = "/"] = url.split("?");
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function missingAsset(): Problem {
  return new Problem("NOT_FOUND_ERROR", "This file belongs to another version of the console. Reload the page.");
}

function answerFile(file: StaticFile, context: ServerContext, publicUrl: string): StreamAnswer {
  const headers: Record<string, string> = {
    "content-type": file.type,
    "cache-control": file.isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
    etag: file.etag,
    vary: "Accept-Encoding",
    ...(file.type.startsWith("text/html") ? pageHeaders(publicUrl) : {}),
  };
  if (namesEntityTag(context.header("if-none-match"), file.etag)) return { status: 304, headers, body: null };
  const isSmall = takesBrotli(context.header("accept-encoding"));
  const bytes = isSmall && file.brotli !== null ? file.brotli : file.plain;
  if (bytes !== file.plain) headers["content-encoding"] = "br";
  headers["content-length"] = String(bytes.length);
  return { status: 200, headers, body: context.request.method === "HEAD" ? null : Readable.from([bytes]) };
}

/**
 * What a page may load, and who may embed it: its own files, and pictures and videos of runs. No inline script runs.
 */
function pageHeaders(publicUrl: string): Record<string, string> {
  const media = `'self' blob: ${new URL(publicUrl).origin}`;
  const policy = {
    "default-src": "'self'",
    "img-src": media,
    "media-src": media,
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "object-src": "'none'",
  };
  return {
    "content-security-policy": Object.entries(policy)
      .map(([name, value]) => `${name} ${value}`)
      .join("; "),
    "referrer-policy": "same-origin",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "geolocation=(), microphone=(), camera=(self)",
  };
}
