/**
 * What the providers' documentation says about the requests that this service may send, member by member, with the page
 * and the day it was read. Members are paths such as `input[].content[].text`. A path that ends with `.**` stands for
 * everything below it, if a prompt's author decides what that is.
 */
import { ANTHROPIC } from "./anthropic.ts";
import { CHAT } from "./chat.ts";
import { FAL } from "./fal.ts";
import { GOOGLE } from "./google.ts";
import { OPENAI } from "./openai.ts";
import type { Documented } from "./page.ts";
import { REPLICATE } from "./replicate.ts";

export const DOCUMENTED: readonly Documented[] = [...OPENAI, ...ANTHROPIC, ...GOOGLE, ...CHAT, ...FAL, ...REPLICATE];

/** @param to host and path. @throws if no page documents such a request. */
export function documentationOf(to: string): Documented {
  const found = DOCUMENTED.filter((each) => each.to.test(to));
  const [only] = found;
  if (only === undefined || found.length > 1) throw new Error(`${to} is documented ${found.length} times`);
  return only;
}

/** The paths of a body's members, each once. */
export function membersOf(body: unknown): string[] {
  return [...new Set(pathsOf(body, ""))];
}

function pathsOf(value: unknown, path: string): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => pathsOf(each, `${path}[]`));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const own = path === "" ? name : `${path}.${name}`;
    return [own, ...pathsOf(member, own)];
  });
}

/** Members of a body that its provider does not document, and required members that are missing. */
export function findUndocumented(to: string, body: unknown): string[] {
  const { sources, required } = documentationOf(to);
  const known = sources.flatMap(({ members }) => members);
  const sent = membersOf(body);
  return [
    ...sent.filter((path) => !known.some((each) => covers(each, path))),
    ...required.filter((path) => !sent.includes(path)).map((path) => `${path} is missing`),
  ];
}

export function covers(documented: string, path: string): boolean {
  if (!documented.endsWith(".**")) return documented === path;
  const top = documented.slice(0, -3);
  return path === top || path.startsWith(`${top}.`) || path.startsWith(`${top}[`);
}
