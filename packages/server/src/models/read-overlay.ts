/** Reads an operator's overlay file. What is faulty in form is told and left out; the rest can still be checked. */
import { readFileSync } from "node:fs";
import { describeFileFailure } from "../platform/file-failure.ts";
import { reasonOf } from "../platform/reason-of.ts";
import { describeIssues, overlayFileSchema, type OverlayFile } from "./catalogue-file.ts";

export interface ReadOverlay {
  /** What of the file can be used; all of it when there is no fault. */
  readonly overlay: Partial<OverlayFile>;
  readonly faults: readonly string[];
}

export function readOverlay(file: string): ReadOverlay {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    const unreadable = describeFileFailure(error, `${file} (PROMPTD_MODELS_FILE)`);
    return { overlay: {}, faults: [unreadable ?? `${file}: it is not valid JSON: ${reasonOf(error)}`] };
  }
  const parsed = overlayFileSchema.safeParse(json);
  if (parsed.success) return { overlay: parsed.data, faults: [] };
  const faults = describeIssues(parsed.error, file);
  const rest = overlayFileSchema.safeParse(withoutFaulty(json, parsed.error.issues));
  return { overlay: rest.success ? rest.data : {}, faults };
}

type Members = Readonly<Record<string, unknown>>;

/** The file without members and models that have a fault, and without models that would seem faulty for want of them. */
function withoutFaulty(json: unknown, issues: readonly { readonly path: readonly PropertyKey[] }[]): unknown {
  if (!isObject(json)) return {};
  const faulty = new Set(issues.map(({ path }) => path.slice(0, path[0] === "models" ? 2 : 1).join(".")));
  const known = Object.entries(json).filter(([key]) => Object.hasOwn(overlayFileSchema.shape, key) && !faulty.has(key));
  const models = Array.isArray(json["models"]) ? (json["models"] as unknown[]) : [];
  const providers = faulty.has("providers") && isObject(json["providers"]) ? Object.keys(json["providers"]) : [];
  const missing = new Set<unknown>([...providers, ...models.filter((_, i) => faulty.has(`models.${i}`)).map(modelOf)]);
  const usable = models.filter((model, i) => {
    if (faulty.has(`models.${i}`) || !isObject(model)) return false;
    return ![model["provider"], model["successor"], model["fallback"]].some((name) => missing.has(name ?? null));
  });
  return { ...Object.fromEntries(known), formatVersion: 1, models: usable };
}

function modelOf(model: unknown): unknown {
  return isObject(model) ? model["model"] : undefined;
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
