/**
 * Checks the items of a batch before it is created, and reports all faults at once, each with the index of its item.
 * Checking ten thousand items takes a while, so other work of the process runs in between.
 */
import {
  ISSUES_MAX,
  quoteText,
  type BatchItem,
  type CreateBatchBody,
  type Issue,
  type ValidationData,
} from "@promptd/contract";
import { batchItemSchema, toIssue } from "@promptd/contract/schemas";
import { createHash } from "node:crypto";
import { Problem } from "../../platform/problem.ts";
import { mapInSlices } from "../../platform/time-slice.ts";
import { checkInputs, type LivePrompt } from "../../prompts/index.ts";
import { checkImages } from "../create/check-images.ts";
import { canonicalJson } from "../create/idempotency.ts";
import { quote, type QuoteOptions } from "../create/quote.ts";

/** An item in the form in which it is stored. */
export interface CheckedItem {
  readonly key: string | null;
  readonly inputs: BatchItem["inputs"];
}

/** Checks the form of each item and of its images. @throws Problem VALIDATION_ERROR. */
export async function parseItems(items: readonly unknown[]): Promise<CheckedItem[]> {
  const faults = new ItemFaults(items.length);
  const parsed: CheckedItem[] = [];
  const indexOfKey = new Map<string, number>();
  await mapInSlices(items, (item, index) => {
    const result = batchItemSchema.safeParse(item, { reportInput: true });
    const issues = result.success ? [] : result.error.issues.map((issue) => toIssue("body", issue));
    faults.add(index, [...issues, ...checkImages(item, issues)]);
    if (!result.success) return;
    const { inputs, key } = result.data;
    parsed.push({ inputs, key });
    if (key === null) return;
    const earlier = indexOfKey.get(key);
    if (earlier === undefined) indexOfKey.set(key, index);
    else faults.add(index, [{ path: ["body", "key"], code: "conflict", message: sameKey(earlier, key) }]);
  });
  faults.throwIfAny();
  return parsed;
}

function sameKey(earlier: number, key: string): string {
  return `items[${earlier}] already has the key ${quoteText(key)}. Give each item its own key.`;
}

export interface FitOptions extends QuoteOptions {
  readonly accountId: string;
  /** Reports a part of the request that has no effect. */
  readonly ignore: (name: string) => void;
}

/** Checks that each item fits its prompt, and that its run could be paid. @throws Problem VALIDATION_ERROR. */
export async function fitItems(
  prompt: LivePrompt,
  items: readonly CheckedItem[],
  { promptVersionId, runOptions }: Pick<CreateBatchBody, "promptVersionId" | "runOptions">,
  options: FitOptions,
): Promise<void> {
  const faults = new ItemFaults(items.length);
  await mapInSlices(items, ({ inputs }, index) => {
    const checked = checkInputs(prompt.version, { promptVersionId, inputs, runOptions }, options.catalogue);
    for (const name of checked.ignored) options.ignore(`items.${name}`);
    const isOfBatch = ({ path }: Issue) => path[1] === "runOptions"; // the same for all items
    if (index === 0) faults.addOfBatch(checked.issues.filter(isOfBatch));
    faults.add(
      index,
      checked.issues.filter((issue) => !isOfBatch(issue)),
    );
    if (checked.issues.length === 0)
      faults.add(
        index,
        priceIssues(() => quote(options.accountId, prompt, checked, options)),
      );
  });
  faults.throwIfAny();
}

/** Issues about a run that could cost more than allowed. */
function priceIssues(quoteIt: () => unknown): readonly Issue[] {
  try {
    quoteIt();
    return [];
  } catch (error) {
    if (error instanceof Problem && error.code === "VALIDATION_ERROR") return issuesOf(error);
    throw error;
  }
}

/** The issues of a VALIDATION_ERROR. */
export function issuesOf(problem: Problem): readonly Issue[] {
  return (problem.data as { readonly issues: readonly Issue[] }).issues;
}

/** SHA-256 of whatever identifies the batch: absent, null, and empty members count as equal. */
export async function fingerprintBatch(
  { promptVersionId, runOptions }: Pick<CreateBatchBody, "promptVersionId" | "runOptions">,
  items: readonly CheckedItem[],
): Promise<Buffer> {
  const hash = createHash("sha256").update(canonicalJson({ promptVersionId, runOptions: runOptions ?? {} }));
  await mapInSlices(items, (item) => void hash.update(canonicalJson(item)));
  return hash.digest();
}

/** Collects issues, up to the limit of one response, and counts the items that have any. Paths name the item. */
class ItemFaults {
  readonly #total: number;
  readonly #issues: Issue[] = [];
  readonly #items = new Set<number>();

  constructor(total: number) {
    this.#total = total;
  }

  /** `issues`: like the issues of a single run whose body is the item. */
  add(index: number, issues: readonly Issue[]): void {
    if (issues.length > 0) this.#items.add(index);
    for (const { path, code, message } of issues) {
      if (this.#issues.length === ISSUES_MAX) return;
      const [root = "body", ...rest] = path;
      this.#issues.push({ path: [root, "items", index, ...rest], code, message });
    }
  }

  addOfBatch(issues: readonly Issue[]): void {
    this.#issues.push(...issues.slice(0, ISSUES_MAX));
  }

  throwIfAny(): void {
    const [first] = this.#issues;
    if (first === undefined) return;
    const invalidItems = this.#items.size;
    const [invalid, total] = [invalidItems, this.#total].map((count) => count.toLocaleString("en-US"));
    const message =
      invalidItems === 0
        ? first.message
        : `${invalid} of ${total} items cannot be run. The first: ${prefixOf(first)}${first.message}`;
    const data: ValidationData = { issues: this.#issues, ...(invalidItems === 0 ? {} : { invalidItems }) };
    throw new Problem("VALIDATION_ERROR", message.slice(0, MESSAGE_LENGTH_MAX).toWellFormed(), { data });
  }
}

function prefixOf({ path }: Issue): string {
  return path[1] === "items" ? `items[${path[2]}]: ` : "";
}

const MESSAGE_LENGTH_MAX = 1_000;
