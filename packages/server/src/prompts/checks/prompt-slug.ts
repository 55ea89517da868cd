import { createHash } from "node:crypto";

/** Of a slug made from a title; a longer one would change the slugs of prompts that exist. */
const SLUG_LENGTH_MAX = 80;
/** Of a slug that the author wrote. */
const OWN_SLUG_LENGTH_MAX = 120;
const HASH_LENGTH = 8;

/** Characters that are part of a name: C, C++ and C# are three languages, and net is not .NET. */
const NAMING_CHARACTERS: readonly (readonly [RegExp, string])[] = [
  [/(?<=[a-z0-9+])\+/g, "-plus"],
  [/(?<=[a-z0-9])#/g, "-sharp"],
  [/(?<![a-z0-9.])\.(?=[a-z])/g, "dot-"],
];

/**
 * The slug of a title: lower-case ASCII words, with such characters spelled out. Where letters or digits were lost (another script, a long title), a
 * piece of the title's hash prevents two titles from getting one slug, which would make one a version of the other.
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

/** `slug-suffix`, the slug cut so that both fit. */
export function joinSlug(slug: string, suffix: string | number): string {
  const most = slug.length > SLUG_LENGTH_MAX ? OWN_SLUG_LENGTH_MAX : SLUG_LENGTH_MAX;
  const room = most - String(suffix).length - 1;
  return `${slug.slice(0, room).replace(/-+$/, "")}-${suffix}`;
}
