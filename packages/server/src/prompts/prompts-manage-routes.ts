import type { PromptFileCheck } from "@promptd/contract/manage";
import type { ManageHandlers, RequestContext } from "../http/endpoint.ts";
import { invalid, notFound } from "../platform/problem.ts";
import { previewPrompt } from "./authoring/preview-prompt.ts";
import { validateInSlices } from "./authoring/validate-prompts.ts";
import { republishPrompt, unpublishPrompt } from "./publishing/unpublish.ts";
import {
  createDraft,
  deleteDraft,
  publishDraft,
  publishPromptFile,
  readPublishable,
  rollBack,
  saveDraft,
  type Author,
} from "./own/drafts.ts";
import { readInOrder } from "./own/read-in-order.ts";
import { deleteLabelRow, listLabels, upsertLabel } from "./own/labels-store.ts";
import {
  diffOwnPrompt,
  readOwnPrompt,
  readOwnPrompts,
  readOwnVersion,
  readOwnVersions,
  type OwnPromptsOptions,
} from "./own/own-prompts.ts";
import { findIntendedPrompts, requireOwnPrompt } from "./own/own-prompts-store.ts";
import { findPromptOf, titlesOf } from "./checks/parse-prompt-file.ts";
import { describeUnknownId, withOwnIds } from "./publishing/new-prompt-or-version.ts";
import type { PromptSource } from "./prompt-definition.ts";

/** Prompts of the chosen account. A prompt that does not exist and one of another account get the same 404. */
export function promptsManageRoutes(options: OwnPromptsOptions) {
  return { ...draftRoutes(options), ...versionRoutes(options), ...labelRoutes(options), ...fileRoutes(options) };
}

function authorOf({ caller }: Pick<RequestContext, "caller">): Author {
  return { accountId: caller.accountId, personId: caller.actor?.personId ?? null };
}

function draftRoutes(options: OwnPromptsOptions) {
  return {
    listPrompts: async ({ query }, { caller }) => ({ data: await readOwnPrompts(caller.accountId, query, options) }),
    createDraft: async ({ body }, context) => {
      const promptId = await createDraft(authorOf(context), body.source, options);
      return { data: await readOwnPrompt(context.caller.accountId, promptId, options) };
    },
    getPrompt: async ({ params: { promptId } }, { caller }) => ({
      data: await readOwnPrompt(caller.accountId, promptId, options),
    }),
    saveDraft: async ({ params: { promptId }, body }, context) => {
      await saveDraft(authorOf(context), promptId, body, options);
      return { data: await readOwnPrompt(context.caller.accountId, promptId, options) };
    },
    deleteDraft: async ({ params: { promptId } }, context) => ({
      data: await deleteDraft(authorOf(context), promptId, options),
    }),
    publishDraft: async ({ params: { promptId }, body }, context) => ({
      data: await publishDraft(authorOf(context), { promptId, ...body, note: body.note ?? null }, options),
    }),
  } satisfies Partial<ManageHandlers>;
}

function versionRoutes(options: OwnPromptsOptions) {
  const { db } = options;
  return {
    rollBackPrompt: async ({ params: { promptId }, body: { promptVersionId, note = null } }, context) => ({
      data: await rollBack(authorOf(context), { promptId, promptVersionId, note }, options),
    }),
    unpublishPrompt: async ({ params: { promptId } }, { caller }) => {
      await requireOwnPrompt(db, caller.accountId, promptId);
      await unpublishPrompt(db, promptId);
      return { data: await readOwnPrompt(caller.accountId, promptId, options) };
    },
    republishPrompt: async ({ params: { promptId } }, { caller }) => {
      await requireOwnPrompt(db, caller.accountId, promptId);
      await republishPrompt(db, promptId);
      return { data: await readOwnPrompt(caller.accountId, promptId, options) };
    },
    listVersions: async ({ params: { promptId }, query }, { caller }) => ({
      data: await readOwnVersions({ accountId: caller.accountId, promptId }, query, options),
    }),
    getVersion: async ({ params }, { caller }) => ({
      data: await readOwnVersion({ accountId: caller.accountId, ...params }, options),
    }),
    diffPrompt: async ({ params: { promptId }, query }, { caller }) => ({
      data: await diffOwnPrompt({ accountId: caller.accountId, promptId }, query, options),
    }),
  } satisfies Partial<ManageHandlers>;
}

const LABELS_MAX = 50;

function labelRoutes({ db }: OwnPromptsOptions) {
  return {
    setLabel: async ({ params: { promptId, label }, body: { promptVersionId } }, { caller }) => {
      await requireOwnPrompt(db, caller.accountId, promptId);
      return db.tx(async (tx) => {
        if (!(await upsertLabel(tx, promptId, { label, promptVersionId }))) {
          throw notFound("published version of this prompt", promptVersionId);
        }
        const labels = await listLabels(tx, promptId);
        if (labels.length <= LABELS_MAX) return { data: { labels } };
        const message = `A prompt can have at most ${LABELS_MAX} labels. Delete or move one.`;
        throw invalid([{ path: ["path", "label"], code: "too_many", message }]);
      });
    },
    deleteLabel: async ({ params: { promptId, label } }, { caller }) => {
      await requireOwnPrompt(db, caller.accountId, promptId);
      if (!(await deleteLabelRow(db, promptId, label))) throw notFound(`label "${label}" on the prompt that`, promptId);
      return { data: { labels: await listLabels(db, promptId) } };
    },
  } satisfies Partial<ManageHandlers>;
}

function fileRoutes(options: OwnPromptsOptions) {
  const { catalogue } = options;
  return {
    checkPromptFile: async ({ body: { source } }, { caller }) => {
      const check = await checkFile(caller.accountId, source, options);
      const read = await withOwnIds(options.db, check.prompts, caller.accountId);
      const meant = await findIntendedPrompts(options.db, caller.accountId, read);
      const prompts = read.map((prompt, at) => {
        const promptId = prompt.promptId ?? meant[at]?.promptId ?? null;
        const unknownId = describeUnknownId(check.prompts[at]?.promptId ?? null, promptId);
        return { ...prompt, promptId, warnings: [...prompt.warnings, ...(unknownId === null ? [] : [unknownId])] };
      });
      return { data: { ...check, prompts } };
    },
    previewPromptFile: async ({ body }, { caller }) => {
      const sources = await readPublishable(caller.accountId, body.source, options);
      const { textInputs, runOptions, stepOutputs } = body;
      const request = { textInputs: textInputs ?? {}, runOptions: runOptions ?? {}, stepOutputs: stepOutputs ?? {} };
      const preview = previewPrompt(promptOf(sources, body.title ?? null), request, catalogue);
      const steps = preview.steps.map((step) => ({ ...step, settings: { ...step.settings } }));
      return { data: { ...preview, steps } };
    },
    publishPromptFile: async ({ body: { source, note = null } }, context) => ({
      data: { published: await publishPromptFile(authorOf(context), { source, note }, options) },
    }),
  } satisfies Partial<ManageHandlers>;
}

function promptOf(sources: readonly PromptSource[], title: string | null): PromptSource {
  const source = findPromptOf(sources, title);
  if (source !== null) return source;
  const message = `The file contains ${sources.length} prompts (${titlesOf(sources)}). Set title to one of them.`;
  throw invalid([{ path: ["body", "title"], code: "invalid_value", message }]);
}

/** As `promptd prompt check` does. */
async function checkFile(
  accountId: string,
  text: string,
  { catalogue, holdMaxCredits, chargesAuthors }: OwnPromptsOptions,
): Promise<PromptFileCheck> {
  const validation = await readInOrder(accountId, () => validateInSlices(text, catalogue, { holdMaxCredits }));
  return {
    ...validation,
    faults: validation.faults.map(({ column = null, excerpt = null, ...fault }) => ({ ...fault, column, excerpt })),
    testRuns: chargesAuthors ? "charged" : "free",
  };
}
