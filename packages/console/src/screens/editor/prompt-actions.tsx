import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Ellipsis, EyeOff, Store, Trash2, Undo2 } from "lucide-react";
import { useState } from "react";
import { manage, ownPromptQuery } from "../../api.ts";
import { nameIn } from "../../components/format.ts";
import { runWithToast } from "../../components/run-with-toast.ts";
import { FormDialog } from "../../components/form-dialog.tsx";
import { Button, buttonClass } from "../../components/ui/button.tsx";
import { Menu, MenuItem } from "../../components/ui/menu.tsx";
import { toast } from "../../components/ui/toast.tsx";
import { PublishDialog } from "./publish-dialog.tsx";
import type { DraftTabProps } from "./test-run.ts";
import { savedRevision } from "./use-draft.ts";

type Confirmation = "discard" | "unpublish" | null;

/** The bar for publishing. It stays in view, however long the file or a test run's result is. */
export function PublishBar({ prompt, draft, checked }: DraftTabProps) {
  const { state, slug, latest } = prompt;
  const [isOpen, setOpen] = useState(false);
  const isEdited = latest === null || draft.revision > 0 || draft.status !== "saved";
  const canPublish = checked.prompt !== null && isEdited && state !== "blocked";
  return (
    <section
      aria-label="Publishing"
      className="bar-at-end sticky bottom-16 z-5 mt-6 flex flex-wrap items-center justify-between gap-x-4 gap-y-2 rounded-3 border border-line bg-float px-4 py-3 shadow-2 max-sm:py-2 sm:bottom-3"
    >
      <p className="text-12 text-dim max-sm:sr-only">{stateOfDraft({ prompt, checked, isEdited })}</p>
      <div className="flex flex-wrap gap-2">
        {state === "published" && slug !== null ? (
          <Link to="/p/$slug" params={{ slug }} aria-label="Open in marketplace" className={buttonClass()}>
            <Store aria-hidden className="size-4" strokeWidth={1.75} />
            <span className="max-sm:hidden">Open in marketplace</span>
            <span aria-hidden className="sm:hidden">
              Open
            </span>
          </Link>
        ) : null}
        <Button tone="main" disabled={!canPublish} onClick={() => setOpen(true)}>
          {latest === null ? "Publish" : `Publish version ${latest.version + 1}`}
        </Button>
      </div>
      {isOpen ? <PublishDialog {...{ prompt, draft, checked }} onClose={() => setOpen(false)} /> : null}
    </section>
  );
}

interface DraftState extends Pick<DraftTabProps, "prompt" | "checked"> {
  readonly isEdited: boolean;
}

/** Says what publishing would do now, or why it must wait. */
function stateOfDraft({ prompt: { state, latest }, checked, isEdited }: DraftState): string {
  if (state === "blocked") return "An operator must allow this prompt before you can publish it again.";
  if (!isEdited) return `Version ${latest?.version} is published. Nothing has changed since.`;
  if (checked.faults.length > 0) return "The file has errors. Fix them to publish.";
  return latest === null
    ? "Only members of this account see this draft. Publishing adds it to the marketplace."
    : `Callers get version ${latest.version} until you publish this draft.`;
}

/** Other actions on the whole prompt. */
export function PromptActions({ prompt, draft }: Pick<DraftTabProps, "prompt" | "draft">) {
  const { promptId, state, latest } = prompt;
  const [confirmation, setConfirmation] = useState<Confirmation>(null);
  const queries = useQueryClient();
  const close = () => setConfirmation(null);
  const publishAgain = () =>
    runWithToast(async () => {
      const next = await manage.send("republishPrompt", { params: { promptId } });
      queries.setQueryData(ownPromptQuery(promptId).queryKey, next);
    }, "Published again");
  return (
    <>
      {latest === null || draft.revision > 0 || state !== "blocked" ? (
        <Menu
          trigger={
            <Button square aria-label="More actions">
              <Ellipsis aria-hidden className="size-4" strokeWidth={1.75} />
            </Button>
          }
        >
          {state === "unpublished" ? (
            <MenuItem icon={Undo2} onClick={() => void publishAgain()}>
              Publish again unchanged
            </MenuItem>
          ) : null}
          {state === "published" ? (
            <MenuItem icon={EyeOff} danger onClick={() => setConfirmation("unpublish")}>
              Unpublish
            </MenuItem>
          ) : null}
          {draft.revision > 0 ? (
            <MenuItem icon={Trash2} danger onClick={() => setConfirmation("discard")}>
              {latest === null ? "Delete prompt" : "Discard draft"}
            </MenuItem>
          ) : null}
        </Menu>
      ) : null}
      {confirmation === "discard" ? <Discard prompt={prompt} draft={draft} onClose={close} /> : null}
      <FormDialog
        isOpen={confirmation === "unpublish"}
        onClose={close}
        title={`Unpublish “${nameIn(prompt.title)}”?`}
        description="The prompt leaves the marketplace, and calls to any of its versions return 404. Runs in progress continue. You can publish it again."
        submit="Unpublish"
        isDanger
        onSubmit={async () => {
          const next = await manage.send("unpublishPrompt", { params: { promptId } });
          queries.setQueryData(ownPromptQuery(promptId).queryKey, next);
          toast("Unpublished");
        }}
      />
    </>
  );
}

type DiscardProps = Pick<DraftTabProps, "prompt" | "draft"> & { readonly onClose: () => void };

function Discard({ prompt: { promptId, title, latest }, draft, onClose }: DiscardProps) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={latest === null ? `Delete “${nameIn(title)}”?` : "Discard this draft?"}
      description={
        latest === null
          ? "It was never published, so deleting it can’t be undone."
          : `The text reverts to version ${latest.version}, which stays published.`
      }
      submit={latest === null ? "Delete prompt" : "Discard draft"}
      isDanger
      onSubmit={async () => {
        // Deleting does not check a revision, so the stored text may be someone else's.
        await savedRevision(draft);
        const { isPromptDeleted } = await manage.send("deleteDraft", { params: { promptId } });
        void queries.invalidateQueries({ queryKey: ["own-prompts"] });
        if (isPromptDeleted) await navigate({ to: "/author" });
        else draft.load(await manage.send("getPrompt", { params: { promptId } }));
      }}
    />
  );
}
