import type { OwnPrompt } from "@promptd/contract/manage";
import { formatTime, formatWhole } from "../../components/format.ts";
import { Badge } from "../../components/ui/badge.tsx";
import { cx } from "../../components/ui/class-names.ts";
import type { DraftEditing } from "./use-draft.ts";

interface DraftStatusProps {
  readonly prompt: OwnPrompt;
  readonly draft: DraftEditing;
}

/** Shows the prompt's state, its versions, and whether the text on screen is saved. */
export function DraftStatus({ prompt, draft: { status, revision } }: DraftStatusProps) {
  const { state, latest, draft, last30Days } = prompt;
  const words = {
    saved: draft === null ? "" : `saved ${formatTime(draft.savedAt)}`,
    unsaved: "not saved yet",
    saving: "saving",
    conflict: "not saved: changed elsewhere",
    retrying: "not saved, retrying",
    failed: "not saved",
  }[status];
  const isBad = status === "conflict" || status === "retrying" || status === "failed";
  return (
    <>
      {state === "blocked" ? <Badge tone="bad">blocked</Badge> : null}
      {state === "unpublished" ? <Badge>unpublished</Badge> : null}
      {latest === null ? <Badge>draft, never published</Badge> : null}
      {latest === null ? null : <Badge tone={state === "published" ? "ok" : "neutral"}>version {latest.version}</Badge>}
      {latest !== null && revision > 0 ? <Badge tone="live">draft of version {latest.version + 1}</Badge> : null}
      <span role="status" className={cx("empty:absolute", isBad && "text-bad")}>
        {words}
      </span>
      {latest === null ? null : (
        <span className="tabular-nums">
          {formatWhole(last30Days.runs)} {last30Days.runs === 1 ? "use" : "uses"} in the last 30 days
          {last30Days.failed === 0 ? null : <span className="text-bad">, {formatWhole(last30Days.failed)} failed</span>}
        </span>
      )}
    </>
  );
}
