/** Reads an operator's overlay file. What is faulty in form is told and left out; the rest can still be checked. */
import { readFileSync } from "node:fs";
import { describeFileFailure } from "../../platform/file-failure.ts";
import { reasonOf } from "../../platform/reason-of.ts";
import { describeIssues, overlayFileSchema, type OverlayFile } from "./catalogue-file.ts";

export interface ReadOverlay {
  /** What of the file can be used; all of it when there is no fault. */
  readonly overlay: Partial<OverlayFile>;
  readonly faults: readonly string[];
  /** Names under `providers`, also of faulty ones: what refers to one of these is not told the fault again. */
  readonly providers: ReadonlySet<string>;
  /** The entries under `models` that are not in `overlay`, as far as they can be read. */
  readonly faulty: readonly FaultyEntry[];
}

interface FaultyEntry {
  readonly model: string | undefined;
  readonly index: number | undefined;
  readonly provider: string | undefined;
  readonly successor: string | undefined;
  readonly fallback: string | undefined;
}

export const NO_OVERLAY: ReadOverlay = { overlay: {}, faults: [], providers: new Set(), faulty: [] };

export function readOverlay(file: string): ReadOverlay {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, "utf8").replace(/^\uFEFF/, ""));
  } catch (error) {
    const unreadable = describeFileFailure(error, `${file} (PROMPTD_MODELS_FILE)`);
    return { ...NO_OVERLAY, faults: [unreadable ?? `${file}: it is not valid JSON: ${reasonOf(error)}`] };
  }
  const parsed = overlayFileSchema.safeParse(json);
  if (parsed.success) {
    return {
      overlay: parsed.data,
      faults: [],
      providers: new Set(Object.keys(parsed.data.providers ?? {})),
      faulty: [],
    };
  }
  return { ...readRest(json, parsed.error.issues), faults: describeIssues(parsed.error, file) };
}

type Members = Readonly<Record<string, unknown>>;
type Issues = readonly { readonly path: readonly PropertyKey[] }[];

/** The file without what has a fault: of providers and models these alone, of the rest whole members. */
function readRest(json: unknown, issues: Issues): Omit<ReadOverlay, "faults"> {
  if (!isObject(json)) return NO_OVERLAY;
  const paths = new Set(issues.flatMap(({ path }) => [path.slice(0, 1).join("."), path.slice(0, 2).join(".")]));
  const given = Array.isArray(json["models"]) ? (json["models"] as unknown[]) : [];
  const isFaulty = (_: unknown, i: number): boolean => paths.has(`models.${i}`);
  const providers = isObject(json["providers"]) ? Object.entries(json["providers"]) : [];
  const others = Object.entries(json).filter(([key]) => Object.hasOwn(overlayFileSchema.shape, key) && !paths.has(key));
  const rest = overlayFileSchema.safeParse({
    ...Object.fromEntries(others),
    formatVersion: 1,
    providers: Object.fromEntries(providers.filter(([name]) => !paths.has(`providers.${name}`))),
    models: given.filter((model, i) => !isFaulty(model, i)),
  });
  return {
    overlay: rest.success ? rest.data : {},
    providers: new Set(providers.map(([name]) => name)),
    faulty: given.filter(isFaulty).map(readEntry),
  };
}

function readEntry(entry: unknown): FaultyEntry {
  const members = isObject(entry) ? entry : {};
  const text = (name: string) => (typeof members[name] === "string" ? members[name] : undefined);
  return {
    model: text("model"),
    index: typeof members["index"] === "number" ? members["index"] : undefined,
    provider: text("provider"),
    successor: text("successor"),
    fallback: text("fallback"),
  };
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
