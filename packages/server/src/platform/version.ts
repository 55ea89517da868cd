/** Version of this release, as the packages carry it. */
export const VERSION = "0.1.0";

/** Below 0 when `a` is older than `b`, by https://semver.org (2.0.0, 11): pre-releases come before their release. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [parseVersion(a), parseVersion(b)];
  const byRelease = compareParts(left.release, right.release);
  if (byRelease !== 0 || left.preRelease.length === 0 || right.preRelease.length === 0) {
    return byRelease || right.preRelease.length - left.preRelease.length;
  }
  return compareParts(left.preRelease, right.preRelease);
}

/** Without a version everything is empty, and so older than any. What follows a plus sign does not count. */
function parseVersion(version: string): { readonly release: string[]; readonly preRelease: string[] } {
  const { release = "", preRelease = "" } = /^(?<release>[^-+]*)(?:-(?<preRelease>[^+]*))?/.exec(version)?.groups ?? {};
  const partsOf = (text: string) => text.split(".").filter((part) => part !== "");
  return { release: partsOf(release), preRelease: partsOf(preRelease) };
}

/** Numbers by value and before words, words by their letters, and what has fewer parts first. */
function compareParts(left: readonly string[], right: readonly string[]): number {
  const at = left.findIndex((part, i) => part !== right[i]);
  const [a, b] = [left[at], right[at]];
  if (a === undefined || b === undefined) return left.length - right.length;
  const [isNumber, isOtherNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (isNumber && isOtherNumber) return Number(a) - Number(b);
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  return a < b ? -1 : 1;
}
