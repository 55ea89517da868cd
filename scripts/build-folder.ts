/**
 * Builds a folder beside its place and moves it there when it is whole: of two builds at once, and while a server starts,
 * nobody meets half of one.
 */
import { chmod, mkdtemp, rename, rm } from "node:fs/promises";

export interface FolderBuild {
  /** Where the folder belongs. */
  readonly place: string;
  /** @returns false when it failed, and has said why. */
  readonly build: (folder: string) => Promise<boolean>;
  /** Asked once it is built: what stands at the place by then is as new, so that it stays. */
  readonly isCurrent: () => boolean;
}

export async function buildFolder({ place, build, isCurrent }: FolderBuild): Promise<boolean> {
  const folder = await mkdtemp(`${place}-`);
  try {
    if (!(await build(folder))) return false;
    await chmod(folder, 0o755); // a temporary folder is its owner's alone; the server may run as somebody else
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
