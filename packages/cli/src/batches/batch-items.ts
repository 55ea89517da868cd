import { toImageInput } from "@promptd/client";
import { BATCH_LIMITS, ISSUES_MAX, type BatchItem, type ImageInput, type PromptConfig } from "@promptd/contract";
import { dirname, resolve } from "node:path";
import { CommandFailure } from "../command.ts";
import { printableLine } from "../printable.ts";
import { refuseUnknownNames } from "../runs/check-inputs.ts";
import { readImage } from "../runs/run-inputs.ts";
import type { Row } from "./read-rows.ts";

/** What a column contains. */
type Column =
  | { readonly kind: "text"; readonly name: string }
  | { readonly kind: "image"; readonly position: number }
  | { readonly kind: "key" };

/** The largest request, with all its images (POST /v1/batches). */
const BODY_BYTES_MAX = 32 * 1024 * 1024;
const IMAGE_COLUMN = /^image:\s*/i;

export interface ItemSource {
  /** The file with the rows. Image paths are relative to its folder. */
  readonly file: string;
  readonly directory: string;
  readonly rows: readonly Row[];
  /** Texts for every item. A row's own cell overrides them. */
  readonly texts: Readonly<Record<string, string>>;
}

/** @throws CommandFailure for unknown columns, too many rows, and images that cannot be read. */
export async function readItems(
  { file, directory, rows, texts }: ItemSource,
  config: PromptConfig,
): Promise<BatchItem[]> {
  const { itemsMax } = BATCH_LIMITS;
  if (rows.length === 0) throw new CommandFailure(`${file} has no rows.`);
  if (rows.length > itemsMax) {
    const counts = `${rows.length.toLocaleString("en-US")} rows, but a batch has at most ${itemsMax.toLocaleString("en-US")}`;
    throw new CommandFailure(`${file} has ${counts}.`, { hint: "Split the file." });
  }
  const columns = readColumns(
    [...new Set(rows.flatMap(({ cells }) => Object.keys(cells)))],
    Object.keys(texts),
    config,
  );
  const folder = dirname(resolve(directory, file));
  const items: BatchItem[] = [];
  let bytes = 0;
  for (const row of rows) {
    const item = await readItem(row, columns, { folder, texts });
    bytes += JSON.stringify(item).length;
    if (bytes > BODY_BYTES_MAX) {
      throw new CommandFailure(`${file} and its images exceed 32 MiB, the most that one batch can hold.`, {
        hint: "Split the file, or refer to images by URL.",
      });
    }
    items.push(item);
  }
  refuseSameKeys(file, rows, items);
  return items;
}

/** @throws CommandFailure that lists rows with a duplicate key (the first ISSUES_MAX) and the earlier row of each. */
function refuseSameKeys(file: string, rows: readonly Row[], items: readonly BatchItem[]): void {
  const lineOf = new Map<string, number>();
  const faults: string[] = [];
  for (const [index, { key }] of items.entries()) {
    const line = rows[index]?.line ?? 0;
    if (typeof key !== "string") continue;
    const earlier = lineOf.get(key);
    if (earlier === undefined) lineOf.set(key, line);
    else faults.push(`${file}:${line}: The row in line ${earlier} also has the key "${printableLine(key)}".`);
  }
  if (faults.length === 0) return;
  const hint = "Give each row a unique key. Nothing was sent, and nothing was charged.";
  const more = faults.length - ISSUES_MAX;
  const named = more > 0 ? [...faults.slice(0, ISSUES_MAX), `and ${more.toLocaleString("en-US")} more.`] : faults;
  throw new CommandFailure(named.join("\n"), { hint });
}

function readColumns(names: readonly string[], given: readonly string[], config: PromptConfig): Map<string, Column> {
  const columns = new Map<string, Column>();
  const unknown: string[] = [];
  for (const name of names) {
    const column = columnOf(name, config);
    if (column === null) unknown.push(name);
    else columns.set(name, column);
  }
  refuseUnknownNames(config, { inputs: given, options: [] });
  // Unlike a text given on the command line, a column may be an image.
  const images = Object.fromEntries(config.imageInputs.map((slot) => [slot.label, slot]));
  const { runOptions, textInputs } = config;
  refuseUnknownNames({ runOptions, textInputs: { ...textInputs, ...images } }, { inputs: unknown, options: [] });
  return columns;
}

function columnOf(name: string, { textInputs, imageInputs }: PromptConfig): Column | null {
  if (Object.hasOwn(textInputs, name)) return { kind: "text", name };
  const label = name.replace(IMAGE_COLUMN, "").toLowerCase();
  const slot = imageInputs.find((one) => one.label.toLowerCase() === label);
  if (slot !== undefined) return { kind: "image", position: slot.position };
  if (IMAGE_COLUMN.test(name)) {
    const labels = imageInputs.map((one) => printableLine(one.label)).join(", ");
    throw new CommandFailure(
      `The prompt has no image "${printableLine(label)}". ${labels === "" ? "It has no image inputs." : `Its images: ${labels}.`}`,
      { hint: "Nothing was sent, and nothing was charged." },
    );
  }
  return name.toLowerCase() === "key" ? { kind: "key" } : null;
}

/** An empty cell counts as not given. */
async function readItem(
  { cells }: Row,
  columns: ReadonlyMap<string, Column>,
  { folder, texts }: { readonly folder: string; readonly texts: ItemSource["texts"] },
): Promise<BatchItem> {
  const textInputs: Record<string, string> = { ...texts };
  const images = new Map<number, ImageInput>();
  let key: string | undefined;
  for (const [name, cell] of Object.entries(cells)) {
    const column = columns.get(name);
    if (column === undefined || cell === "") continue;
    if (column.kind === "text") textInputs[column.name] = cell;
    else if (column.kind === "key") key = cell;
    else images.set(column.position, await toImageInput(await readImage(cell.trim().replace(/^@/, ""), folder)));
  }
  const imageInputs = [...images].toSorted(([a], [b]) => a - b).map(([, image]) => image);
  return { inputs: { textInputs, imageInputs }, ...(key === undefined ? {} : { key }) };
}
