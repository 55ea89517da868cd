import type { Issue } from "@promptd/contract";
import { checkImageInputs } from "../../files/index.ts";
import { memberOf } from "../../platform/json.ts";

/**
 * Issues about images have the path `body, inputs, imageInputs`, followed by an index unless they concern all images.
 */
const indexOf = ({ path }: Issue) => path[3] ?? "all";

/**
 * Checks images even when another part of the body is invalid. If the schema already rejected an image, or all images,
 * no further issues are added for it.
 */
export function checkImages(body: unknown, issues: readonly Issue[]): readonly Issue[] {
  const images = memberOf(memberOf(body, "inputs"), "imageInputs");
  const refused = new Set(issues.filter(({ path }) => path[2] === "imageInputs").map(indexOf));
  if (!Array.isArray(images) || images.length === 0 || refused.has("all")) return [];
  return checkImageInputs(images).filter((issue) => !refused.has(indexOf(issue)));
}
