import { createHash } from "node:crypto";
import { FIELD_LIMITS } from "../format/field-limits.ts";

/** Maximum length of a slug made from a title. A higher limit would change the slugs of existing prompts. */
const SLUG_LENGTH_MAX = 80;
const HASH_LENGTH = 8;

/** Characters that are part of a name: C, C++, and C# are three languages, and net is not .NET. */
const NAMING_CHARACTERS: readonly (readonly [RegExp, string])[] = [
  [/(?<=[a-z0-9+])\+/g, "-plus"],
  [/(?<=[a-z0-9])#/g, "-sharp"],
  [/(?<![a-z0-9.])\.(?=[a-z])/g, "dot-"],
];

/**
 * Makes a slug from a title: lowercase ASCII words, with the characters above spelled out. If letters or digits are
 * lost (another script, a long title), part of the title's hash keeps two titles from getting the same slug, which
 * would make one prompt a version of the other.
 */
export function slugOfTitle(title: string): string {
  const words = title
    .normalize("NFKD")
    .replaceAll(/\p{M}+/gu, "")
    .toLowerCase();
  const slug = NAMING_CHARACTERS.reduce((text, [sign, name]) => text.replaceAll(sign, name), words)
    .replaceAll(/['’]/g, "")
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "");
  const isWhole =
    slug !== "" && slug.length <= SLUG_LENGTH_MAX && !/[\p{L}\p{N}]/u.test(words.replaceAll(/[a-z0-9]/g, ""));
  if (isWhole) return slug;
  const hash = createHash("sha256").update(title.normalize("NFC")).digest("hex").slice(0, HASH_LENGTH);
  return joinSlug(slug === "" ? "prompt" : slug.slice(0, SLUG_LENGTH_MAX), hash);
}

/** Returns `slug-suffix`, with the slug cut so that both fit. */
export function joinSlug(slug: string, suffix: string | number): string {
  const most = slug.length > SLUG_LENGTH_MAX ? FIELD_LIMITS.slugLength : SLUG_LENGTH_MAX;
  const room = most - String(suffix).length - 1;
  return `${slug.slice(0, room).replace(/-+$/, "")}-${suffix}`;
}
