import type { Run } from "@promptd/contract";
import { makeFolder } from "@promptd/server/make-folder";
import { writeFile } from "node:fs/promises";
import { extname, join, resolve } from "node:path";
import { CommandFailure, type CommandIo } from "../command.ts";
import { describeWriteFailure } from "../files/file-failure.ts";

export interface SavedFile {
  /** Index of the item in `outputs`, from 0. */
  readonly output: number;
  readonly path: string;
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  "image/png": ".png",
  "image/jpeg": ".jpg",
  "image/webp": ".webp",
  "video/mp4": ".mp4",
  "video/webm": ".webm",
};

/**
 * Downloads the generated images and videos of a run into a folder, which is created if missing.
 * The URLs are signed. The API key is not sent, because they may point to another host.
 * @throws CommandFailure when a URL does not return a file, or the file cannot be written.
 */
export async function saveOutputs(run: Run, folder: string, io: CommandIo): Promise<SavedFile[]> {
  const directory = resolve(io.directory, folder);
  await orWriteFailure(directory, run.runId, () => makeFolder(directory));
  const name = run.runId.replaceAll(/[^A-Za-z0-9-]/g, "_"); // an id cannot lead out of the folder
  const saved: SavedFile[] = [];
  for (const [output, item] of run.outputs.entries()) {
    if (item.type !== "image" && item.type !== "video") continue;
    const { bytes, extension } = await downloadOutput(item.data, io);
    const path = join(directory, `${name}-${output + 1}${extension}`);
    await orWriteFailure(path, run.runId, () => writeFile(path, bytes));
    saved.push({ output, path });
  }
  return saved;
}

/** The run has been charged, so if its files cannot be written here, say how to save them elsewhere. */
async function orWriteFailure(path: string, runId: string, write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    const hint = `The run is safe. Save its files elsewhere with: promptd runs get ${runId} --out DIR`;
    throw new CommandFailure(describeWriteFailure(path, error), { hint, cause: error });
  }
}

/** @throws CommandFailure when the URL does not return a file. */
export async function downloadOutput(
  url: string,
  io: CommandIo,
): Promise<{ readonly bytes: Uint8Array; readonly extension: string }> {
  const response = await io.fetch(url, { signal: io.signal }).catch((error: unknown) => {
    io.signal.throwIfAborted();
    const hint = "Check the connection. The file is available for 24 hours after it was generated.";
    throw new CommandFailure(`No answer from ${url}.`, { hint, cause: error });
  });
  if (!response.ok) {
    throw new CommandFailure(`${url} answered HTTP ${response.status}.`, {
      hint: response.status === 410 ? "Generated files are available for 24 hours." : 'See "promptd doctor".',
    });
  }
  const type = (response.headers.get("content-type") ?? "").split(";")[0]?.trim() ?? "";
  // The URL's extension becomes part of a file name, so only short plain extensions are used.
  const ofAddress = /^\.[a-z0-9]{1,5}$/.exec(extname(new URL(url).pathname))?.[0];
  return { bytes: new Uint8Array(await response.arrayBuffer()), extension: EXTENSIONS[type] ?? ofAddress ?? ".bin" };
}
