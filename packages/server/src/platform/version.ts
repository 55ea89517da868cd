/** The version of this release, as in its packages. */
export const VERSION = "0.1.0";

/**
 * Returns less than 0 if `a` is older than `b`, by https://semver.org (2.0.0, 11): pre-releases precede their release.
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [parseVersion(a), parseVersion(b)];
  const byRelease = compareParts(left.release, right.release);
  if (byRelease !== 0 || left.preRelease.length === 0 || right.preRelease.length === 0) {
    return byRelease || right.preRelease.length - left.preRelease.length;
  }
  return compareParts(left.preRelease, right.preRelease);
}

/** Ignores what follows a plus sign. Without a version all parts are empty, so it is older than any version. */
function parseVersion(version: string): { readonly release: string[]; readonly preRelease: string[] } {
  const { release = "", preRelease = "" } = /^(?<release>[^-+]*)(?:-(?<preRelease>[^+]*))?/.exec(version)?.groups ?? {};
  const partsOf = (text: string) => text.split(".").filter((part) => part !== "");
  return { release: partsOf(release), preRelease: partsOf(preRelease) };
}

/** Compares numbers by value, words by their letters, numbers before words, and fewer parts before more. */
function compareParts(left: readonly string[], right: readonly string[]): number {
  const at = left.findIndex((part, i) => part !== right[i]);
  const [a, b] = [left[at], right[at]];
  if (a === undefined || b === undefined) return left.length - right.length;
  const [isNumber, isOtherNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (isNumber && isOtherNumber) return Number(a) - Number(b);
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  return a < b ? -1 : 1;
}
