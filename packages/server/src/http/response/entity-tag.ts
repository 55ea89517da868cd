/** Whether If-None-Match names the current tag: weak comparison, `*` matches every tag (RFC 9110, section 13.1.2). */
export function namesEntityTag(ifNoneMatch: string | null, tag: string): boolean {
  if (ifNoneMatch === null) return false;
  const tags = ifNoneMatch.split(",").map((one) => one.trim().replace(/^W\//, ""));
  return tags.includes("*") || tags.includes(tag);
}
