import { createHash } from "node:crypto";
import type { Run } from "@promptd/contract";

/** A run as a caller saw it, small enough to remember tens of thousands. */
export interface RunView extends Pick<Run, "runId" | "runStatus" | "tokens"> {
  /** Digest of the outputs. */
  readonly outputs: string;
}

export function viewOf({ runId, runStatus, tokens, outputs }: Run): RunView {
  const digest = createHash("sha256").update(JSON.stringify(outputs.map(({ type, data }) => [type, pathOf(data)])));
  return { runId, runStatus, tokens, outputs: digest.digest("base64url").slice(0, 16) };
}

/** A file is the same file whichever process names it: each process has its own port. */
function pathOf(data: string): string {
  return data.replace(/^http:\/\/[^/]+(?=\/files\/)/, "");
}
