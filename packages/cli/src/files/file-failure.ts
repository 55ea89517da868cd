import { printableLine } from "../printable.ts";

/**
 * Says why a file could not be read. The system's own message would name its functions.
 * @param ifDirectory what to do when the path is a directory, such as "name an image in it".
 */
export function describeReadFailure(name: string, error: unknown, ifDirectory: string): string {
  const shown = printableLine(name);
  switch (codeOf(error)) {
    case "ENOENT":
    case "ENOTDIR":
      return `There is no file ${shown}. Check the name.`;
    case "EISDIR":
      return `${shown} is a directory; ${ifDirectory}.`;
    case "EACCES":
    case "EPERM":
      return `You do not have permission to read ${shown}. Change its permissions, or run the command as its owner.`;
    default:
      return `${shown} could not be read${codeInBrackets(error)}. Check the file and its disk.`;
  }
}

/** Says why a folder could not be read. */
export function describeFolderFailure(name: string, error: unknown): string {
  const shown = printableLine(name);
  switch (codeOf(error)) {
    case "ENOENT":
      return `There is no folder ${shown}. Check the name.`;
    case "ENOTDIR":
      return `${shown} is not a folder. Name the folder that the file is in.`;
    case "EACCES":
    case "EPERM":
      return `You do not have permission to read the folder ${shown}. Change its permissions, or choose another.`;
    default:
      return `The folder ${shown} could not be read${codeInBrackets(error)}. Check it and its disk.`;
  }
}

/** Says why a file or folder could not be written. */
export function describeWriteFailure(name: string, error: unknown): string {
  const shown = printableLine(name);
  switch (codeOf(error)) {
    case "ENOENT":
      return `${shown} cannot be written: its folder does not exist. Create the folder, or choose another path.`;
    case "ENOTDIR":
    case "EEXIST":
      return `${shown} cannot be written: part of its path is a file, not a folder. Choose another path.`;
    case "EISDIR":
      return `${shown} cannot be written: it is a folder. Choose another path.`;
    case "EACCES":
    case "EPERM":
      return `${shown} cannot be written: permission denied. Change the permissions, or choose another path.`;
    case "ENOSPC":
    case "EDQUOT":
      return `${shown} cannot be written: the disk is full. Free some space on it.`;
    case "ENOTSUP":
      return `${shown} cannot be written: no folder can be created there. Choose another path.`;
    case "EROFS":
      return `${shown} cannot be written: its disk is read-only. Choose another path.`;
    default:
      return `${shown} could not be written${codeInBrackets(error)}. Check the disk.`;
  }
}

/** Such as "ENOENT"; empty when the failure is not the system's. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

function codeInBrackets(error: unknown): string {
  const code = codeOf(error);
  return code === "" ? "" : ` (${code})`;
}
