import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { diffQuery, manage } from "../../api.ts";
import { nameIn } from "../../components/format.ts";
import { FormDialog } from "../../components/form-dialog.tsx";
import { QueryFailure } from "../../components/query-states.tsx";
import { TextShape } from "../../components/run/output-view.tsx";
import { Field, Input } from "../../components/ui/field.tsx";
import { toast } from "../../components/ui/toast.tsx";
import { useAuthorShare } from "../../components/prompt/use-author-share.ts";
import { textOf } from "../../sign-in.ts";
import { DiffView } from "./diff-view.tsx";
import { Warnings } from "./fault-list.tsx";
import type { DraftTabProps } from "./test-run.ts";

type PublishDialogProps = DraftTabProps & { readonly onClose: () => void };

/** Shows what publishing changes for callers and asks for a note. It publishes exactly what it compared. */
export function PublishDialog({ prompt, draft, checked, onClose }: PublishDialogProps) {
  const { promptId, latest } = prompt;
  const queries = useQueryClient();
  const share = useAuthorShare(prompt);
  const [revision, setRevision] = useState<number | null>(null);
  const { flush } = draft;
  useEffect(() => {
    let isOpen = true;
    const save = async () => {
      const saved = await flush({ isForced: true });
      if (isOpen) setRevision(saved);
    };
    void save();
    return () => {
      isOpen = false;
    };
    // oxlint-disable-next-line react/exhaustive-deps -- once, when the dialog opens; text typed later is not compared
  }, []);
  const publish = async (form: FormData) => {
    if (revision === null)
      throw new Error("The draft is not saved yet. Close this dialog, read the note above the file, and try again.");
    const note = textOf(form, "note").trim();
    const body = { revision, baseVersionId: latest?.promptVersionId ?? null, ...(note === "" ? {} : { note }) };
    const published = await manage.send("publishDraft", { params: { promptId }, body });
    draft.load(await manage.send("getPrompt", { params: { promptId } }));
    for (const queryKey of [["own-prompts"], ["own-versions", promptId], ["marketplace"], ["prompt", published.slug]]) {
      void queries.invalidateQueries({ queryKey });
    }
    toast(
      published.outcome === "unchanged"
        ? `Nothing has changed since version ${published.version}, so no new version was published`
        : `Version ${published.version} is published`,
    );
  };
  return (
    <FormDialog
      isOpen
      onClose={onClose}
      title={latest === null ? "Publish this prompt?" : `Publish version ${latest.version + 1}?`}
      description={
        latest === null
          ? `Everyone with an account can find “${nameIn(checked.prompt?.title ?? prompt.title)}” in the marketplace and run it. Callers never see the template.`
          : "Callers who do not specify a version get this one. They can still call older versions by ID."
      }
      submit="Publish"
      onSubmit={publish}
    >
      {share === null ? null : <p>{share}</p>}
      <Warnings prompt={checked.prompt} />
      <Field
        label="Note"
        help={
          latest === null
            ? "Optional. One line that callers see with version 1, such as what it does best."
            : `Optional. One line that callers see with version ${latest.version + 1}, about what changed.`
        }
      >
        {(control) => <Input {...control} name="note" maxLength={200} autoComplete="off" autoFocus />}
      </Field>
      {latest === null || revision === null ? null : (
        <Changes promptId={promptId} revision={revision} base={latest.promptVersionId} version={latest.version} />
      )}
    </FormDialog>
  );
}

interface ChangesProps {
  readonly promptId: string;
  readonly revision: number;
  readonly base: string;
  readonly version: number;
}

function Changes({ promptId, revision, base, version }: ChangesProps) {
  const diff = useQuery(diffQuery(promptId, { from: base }, String(revision)));
  if (diff.isError) return <QueryFailure what="The comparison" query={diff} />;
  return (
    <section aria-label="Changes" className="grid grid-cols-[minmax(0,1fr)] gap-2">
      <h3>Changes since version {version}</h3>
      {diff.data === undefined ? <TextShape /> : <DiffView diff={diff.data} />}
    </section>
  );
}
