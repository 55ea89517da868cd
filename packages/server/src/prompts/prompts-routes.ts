import { parsePromptName, type NamedPrompt, type NamedPrompts } from "@promptd/contract";
import { REQUEST_LIMITS, slugNames } from "@promptd/contract/schemas";
import type { Handlers } from "../http/endpoint.ts";
import { invalid, notFound, Problem } from "../platform/problem.ts";
import {
  describePublicId,
  findLabeledVersions,
  findNamedVersions,
  findPromptVersion,
  findPublicVersion,
  type NamedVersion,
} from "./prompts-store.ts";
import { promptVersion, type Shown } from "./prompt-view.ts";
import { searchPrompts, type SearchPromptsOptions } from "./search-prompts.ts";

export interface PromptsRoutesOptions extends Omit<SearchPromptsOptions, "freeAuthorId"> {
  /** True: authors pay for runs of their own prompts too. */
  readonly chargesAuthors: boolean;
}

/** Drafts, unpublished prompts, versions of other prompts, and ids that never existed all get the same response. */
export function promptsRoutes(options: PromptsRoutesOptions) {
  const { db, catalogue } = options;
  const shownTo = ({ accountId }: { readonly accountId: string }): Shown => ({
    catalogue,
    freeAuthorId: options.chargesAuthors ? null : accountId,
  });
  return {
    searchPrompts: async ({ query }, { caller }) => {
      return { data: { rows: await searchPrompts(query.q, { ...options, ...shownTo(caller) }) } };
    },
    getPrompt: async ({ params: { promptId }, query: { versionId } }, { caller }) => {
      const version = await findPromptVersion(db, promptId, versionId ?? null);
      if (version !== null) return { data: promptVersion(version, shownTo(caller)) };
      const isVersionMissing = versionId !== undefined && (await findPromptVersion(db, promptId, null)) !== null;
      if (isVersionMissing) throw notFound("published version of this prompt", versionId);
      throw notFound("published prompt", promptId, await describePublicId(db, promptId));
    },
    getPromptVersion: async ({ params: { promptVersionId } }, { caller }) => {
      const version = await findPublicVersion(db, promptVersionId);
      if (version !== null) return { data: promptVersion(version, shownTo(caller)) };
      throw notFound("published prompt version", promptVersionId, await describePublicId(db, promptVersionId));
    },
    resolveSlug: async ({ params: { slug }, query: { label } }, { caller }) => {
      const version = (await findNamedVersions(db, [{ slug, label: storedLabel(label) }])).get(0);
      if (version !== undefined)
        return { data: { slug, label: label ?? null, ...promptVersion(version, shownTo(caller)) } };
      const what = label === undefined ? "prompt" : `prompt with the label ${label}`;
      throw new Problem("NOT_FOUND_ERROR", `No published ${what} has the slug ${slug}.`);
    },
    listSlugs: async ({ query: { slugs, label } }, { caller }) => ({
      data:
        slugs === undefined
          ? await findLabeled(caller.accountId, label ?? LABEL_OF_LATEST, { db, ...shownTo(caller) })
          : await findNamed(slugNames(slugs), label, { db, ...shownTo(caller) }),
    }),
  } satisfies Partial<Handlers>;
}

/** Always means the latest version, so no author can set it. */
const LABEL_OF_LATEST = "latest";

/** Null: the latest version, whose label is not stored. */
function storedLabel(label: string | undefined): string | null {
  return label === undefined || label === LABEL_OF_LATEST ? null : label;
}

type Ports = Pick<PromptsRoutesOptions, "db"> & Shown;

/** @param names slugs, each optionally followed by @ and a label. @param label for names without one. */
async function findNamed(
  names: readonly string[],
  label: string | undefined,
  { db, ...shown }: Ports,
): Promise<NamedPrompts> {
  const requested = names.map((name) => {
    const { slug, label: own } = parsePromptName(name);
    return { name, slug, label: own ?? label };
  });
  const found = await findNamedVersions(
    db,
    requested.map((one) => ({ slug: one.slug, label: storedLabel(one.label) })),
  );
  const rows = requested.flatMap((one, index) => {
    const version = found.get(index);
    return version === undefined ? [] : [namedPrompt(version, one.label ?? null, shown)];
  });
  return { rows, missing: requested.filter((_, index) => !found.has(index)).map(({ name }) => name) };
}

async function findLabeled(accountId: string, label: string, { db, ...shown }: Ports): Promise<NamedPrompts> {
  const { slugsMax: max } = REQUEST_LIMITS;
  const found = await findLabeledVersions(db, accountId, { label: storedLabel(label), limit: max + 1 });
  if (found.length > max) {
    const message = `More than ${max} of your prompts have the label ${label}. List the ones you want in slugs.`;
    throw invalid([{ path: ["query", "label"], code: "too_many", message }]);
  }
  return { rows: found.map((version) => namedPrompt(version, label, shown)), missing: [] };
}

function namedPrompt(version: NamedVersion, label: string | null, shown: Shown): NamedPrompt {
  const { slug, description } = version;
  return { slug, label, description, ...promptVersion(version, shown) };
}
