/**
 * Builds a folder next to its destination and moves it there when it is complete, so that concurrent builds and a
 * starting server never see a partial build.
 */
import { chmod, mkdtemp, rename, rm } from "node:fs/promises";

export interface FolderBuild {
  /** The destination of the folder. */
  readonly place: string;
  /** @returns false when the build failed; it has printed the reason. */
  readonly build: (folder: string) => Promise<boolean>;
  /** Called after the build: true if the folder at the destination is already up to date and stays. */
  readonly isCurrent: () => boolean;
}

export async function buildFolder({ place, build, isCurrent }: FolderBuild): Promise<boolean> {
  const folder = await mkdtemp(`${place}-`);
  try {
    if (!(await build(folder))) return false;
    await chmod(folder, 0o755); // only the owner can read a temporary folder, but the server may run as another user
    if (!isCurrent()) await replaceFolder(place, folder);
    return true;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function replaceFolder(place: string, folder: string): Promise<void> {
  const old = `${folder}-old`;
  const isThere = await rename(place, old).then(
    () => true,
    () => false,
  );
  await rename(folder, place);
  if (isThere) await rm(old, { recursive: true, force: true });
}
