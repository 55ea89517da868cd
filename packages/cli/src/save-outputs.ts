import type { Run } from "@promptd/contract";
import { mkdir, writeFile } from "node:fs/promises";
import { extname, join, resolve } from "node:path";
import { CommandFailure, type CommandIo } from "./command.ts";

export interface SavedFile {
  /** Place of the item in `outputs`, from 0. */
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
 * Downloads the generated images and videos of a run into a folder, which is made when missing.
 * The addresses are signed: the API key is not sent, as they may lie on another host.
 * @throws CommandFailure when an address does not answer with a file.
 */
export async function saveOutputs(run: Run, folder: string, io: CommandIo): Promise<SavedFile[]> {
  const directory = resolve(io.directory, folder);
  await mkdir(directory, { recursive: true });
  const name = run.runId.replaceAll(/[^A-Za-z0-9-]/g, "_"); // an id cannot lead out of the folder
  const saved: SavedFile[] = [];
  for (const [output, item] of run.outputs.entries()) {
    if (item.type !== "image" && item.type !== "video") continue;
    const { bytes, extension } = await download(item.data, io);
    const path = join(directory, `${name}-${output + 1}${extension}`);
    await writeFile(path, bytes);
    saved.push({ output, path });
  }
  return saved;
}

async function download(url: string, io: CommandIo): Promise<{ bytes: Uint8Array; extension: string }> {
  const response = await io.fetch(url, { signal: io.signal }).catch((error: unknown) => {
    io.signal.throwIfAborted();
    throw new CommandFailure(`No answer from ${url}.`, { cause: error });
  });
  if (!response.ok) {
    throw new CommandFailure(`${url} answered HTTP ${response.status}.`, {
      hint: response.status === 410 ? "Generated files are kept for 24 hours." : 'See "promptd doctor".',
    });
  }
  const type = (response.headers.get("content-type") ?? "").split(";")[0]?.trim() ?? "";
  // The extension of the address is used only when it is plain letters: it becomes part of a file name.
  const ofAddress = /^\.[a-z0-9]{1,5}$/.exec(extname(new URL(url).pathname))?.[0];
  return { bytes: new Uint8Array(await response.arrayBuffer()), extension: EXTENSIONS[type] ?? ofAddress ?? ".bin" };
}
