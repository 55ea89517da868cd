/** Whether If-None-Match names the current tag: weak comparison, `*` matches every tag (RFC 9110, section 13.1.2). */
export function namesEntityTag(ifNoneMatch: string | null, tag: string): boolean {
  if (ifNoneMatch === null) return false;
  const tags = ifNoneMatch.split(",").map((one) => opaqueTag(one.trim()));
  return tags.includes("*") || tags.includes(opaqueTag(tag));
}

function opaqueTag(tag: string): string {
  return tag.replace(/^W\//, "");
}
