import type { OwnPrompt } from "@promptd/contract/manage";
import { manage } from "../../api.ts";
import { runWithToast } from "../../components/run-with-toast.ts";
import { FaultNote } from "../../components/fault-note.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { formatDay } from "../../components/format.ts";
import { Button } from "../../components/ui/button.tsx";
import { Failure } from "../../components/ui/empty.tsx";
import type { DraftEditing } from "./use-draft.ts";

interface NoticesProps {
  readonly prompt: OwnPrompt;
  readonly draft: DraftEditing;
}

/** What an author must know first: a conflict, an operator's reason for blocking, or a retiring model. */
export function Notices({ prompt, draft }: NoticesProps) {
  const { moderation, endingModels } = prompt;
  const ending = endingModels.find(({ isLatest }) => isLatest);
  return (
    <>
      {draft.status === "conflict" ? <Conflict prompt={prompt} draft={draft} /> : null}
      {draft.status === "failed" || draft.status === "retrying" ? (
        <FaultNote
          fault={draft.fault}
          title={draft.status === "failed" ? "The draft could not be saved." : "The draft is not saved yet."}
          onRetry={() => void draft.flush()}
        >
          {draft.status === "failed"
            ? undefined
            : "Your text is still on the screen, and saving is retried automatically."}
        </FaultNote>
      ) : null}
      {moderation === null ? null : (
        <Failure title={`An operator removed this prompt from the marketplace on ${formatDay(moderation.at)}.`}>
          <p>{moderation.reason}</p>
          <p className="pt-1 text-dim">
            Fix it, then ask the operator to allow it again. Drafts and test runs still work.
          </p>
        </Failure>
      )}
      {ending === undefined ? null : (
        <div role="note" className="rounded-3 bg-warn-soft p-4">
          <p className="font-semibold text-warn">
            <code>{ending.model}</code> retires on {formatDay(ending.retiresAt)}.
          </p>
          <p className="pt-1">
            {ending.successor === null ? (
              "Choose another model in this file and publish it before that day. From then on, no one can run this prompt."
            ) : (
              <>
                Its successor is <code>{ending.successor}</code>. Use it in this file, test it, and publish before that
                day.
              </>
            )}
          </p>
        </div>
      )}
    </>
  );
}

function Conflict({ prompt: { promptId }, draft }: NoticesProps) {
  const load = () =>
    runWithToast(async () => draft.load(await manage.send("getPrompt", { params: { promptId } })), "Other text loaded");
  return (
    <div role="alert" className="grid gap-2 rounded-3 bg-warn-soft p-4">
      <p className="font-semibold text-warn">This draft was changed elsewhere while you were writing.</p>
      <p>Nothing is lost. Your text is on this screen, and the other text is saved. Choose one to continue saving.</p>
      <div className="flex flex-wrap gap-2">
        <CopyButton text={draft.source} label="Copy my text" />
        <Button small onClick={() => void load()}>
          Load the other text
        </Button>
        <Button small onClick={() => void runWithToast(draft.overwrite, "Your text was saved")}>
          Overwrite it with my text
        </Button>
      </div>
    </div>
  );
}
