import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Ellipsis, EyeOff, Store, Trash2, Undo2 } from "lucide-react";
import { useState } from "react";
import { manage, ownPromptQuery } from "../../api.ts";
import { actAndSay } from "../../components/act-and-say.ts";
import { FormDialog } from "../../components/form-dialog.tsx";
import { Button, buttonClass } from "../../components/ui/button.tsx";
import { Menu, MenuItem } from "../../components/ui/menu.tsx";
import { toast } from "../../components/ui/toast.tsx";
import { PublishDialog } from "./publish-dialog.tsx";
import type { DraftTabProps } from "./test-run.ts";
import { savedRevision } from "./use-draft.ts";

type Asked = "publish" | "discard" | "unpublish" | null;

/** Publish, and what else can be done with the prompt as a whole. */
export function PromptActs({ prompt, draft, checked }: DraftTabProps) {
  const { promptId, state, slug, latest } = prompt;
  const [asked, setAsked] = useState<Asked>(null);
  const queries = useQueryClient();
  const close = () => setAsked(null);
  const isEdited = latest === null || draft.revision > 0 || draft.status !== "saved";
  const publishAgain = () =>
    actAndSay(async () => {
      const next = await manage.send("republishPrompt", { params: { promptId } });
      queries.setQueryData(ownPromptQuery(promptId).queryKey, next);
    }, "Published again");
  return (
    <>
      {state === "published" && slug !== null ? (
        <Link to="/p/$slug" params={{ slug }} className={buttonClass()}>
          <Store aria-hidden className="size-4" strokeWidth={1.75} />
          Open in marketplace
        </Link>
      ) : null}
      <Button
        tone="main"
        disabled={checked.prompt === null || !isEdited || state === "blocked"}
        onClick={() => setAsked("publish")}
      >
        {latest === null ? "Publish" : `Publish version ${latest.version + 1}`}
      </Button>
      {latest === null || draft.revision > 0 || state !== "blocked" ? (
        <Menu
          trigger={
            <Button square aria-label="More acts">
              <Ellipsis aria-hidden className="size-4" strokeWidth={1.75} />
            </Button>
          }
        >
          {state === "unpublished" ? (
            <MenuItem icon={Undo2} onClick={() => void publishAgain()}>
              Publish again as it was
            </MenuItem>
          ) : null}
          {state === "published" ? (
            <MenuItem icon={EyeOff} danger onClick={() => setAsked("unpublish")}>
              Unpublish
            </MenuItem>
          ) : null}
          {draft.revision > 0 ? (
            <MenuItem icon={Trash2} danger onClick={() => setAsked("discard")}>
              {latest === null ? "Delete prompt" : "Discard draft"}
            </MenuItem>
          ) : null}
        </Menu>
      ) : null}
      {asked === "publish" ? <PublishDialog prompt={prompt} draft={draft} onClose={close} /> : null}
      {asked === "discard" ? <Discard prompt={prompt} draft={draft} onClose={close} /> : null}
      <FormDialog
        isOpen={asked === "unpublish"}
        onClose={close}
        title={`Unpublish “${prompt.title}”?`}
        description="It leaves the marketplace, and calls of all its versions are answered with 404. Runs in progress go on. You can publish it again as it was."
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
      title={latest === null ? `Delete “${title}”?` : "Discard this draft?"}
      description={
        latest === null
          ? "It was never published, so it is gone for good."
          : `The text goes back to version ${latest.version}, which stays published.`
      }
      submit={latest === null ? "Delete prompt" : "Discard draft"}
      isDanger
      onSubmit={async () => {
        // Deleting takes no revision: what is stored may be somebody else's.
        await savedRevision(draft);
        const { isPromptDeleted } = await manage.send("deleteDraft", { params: { promptId } });
        void queries.invalidateQueries({ queryKey: ["own-prompts"] });
        if (isPromptDeleted) await navigate({ to: "/author" });
        else draft.load(await manage.send("getPrompt", { params: { promptId } }));
      }}
    />
  );
}
