/** The text of a draft, which saves itself and never overwrites what somebody else has saved. */
import { PromptdError } from "@promptd/client/manage";
import type { OwnPrompt } from "@promptd/contract/manage";
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { faultOf, manage, ownPromptQuery, type Fault } from "../../api.ts";
import { useLeaving } from "../../components/leaving.ts";

type DraftStatus = "saved" | "unsaved" | "saving" | "conflict" | "failed";

export interface DraftEditing {
  readonly source: string;
  readonly status: DraftStatus;
  readonly fault: Fault | null;
  /** 0: there is no draft. */
  readonly revision: number;
  readonly change: (source: string) => void;
  /** The text as it is now: `source` is that of the last time the page was drawn. */
  readonly read: () => string;
  /** Saves what is not saved. @returns the revision of what is on the screen; null: it could not be saved. */
  readonly flush: (options?: { readonly isForced: boolean }) => Promise<number | null>;
  /** After a conflict: saves this text over the other one. */
  readonly overwrite: () => Promise<void>;
  /** Shows what the server has in place of what is on the screen. */
  readonly load: (prompt: OwnPrompt) => void;
}

/** After this much quiet. */
const SAVE_MS = 800;

const isConflict = (error: unknown) =>
  error instanceof PromptdError && error.issues.some(({ code }) => code === "conflict");

const known = ({ source, draft }: OwnPrompt) => ({
  source,
  saved: source,
  revision: draft?.revision ?? 0,
  hasConflict: false,
});

/** For acts that would go past what is on the screen. @returns its revision. @throws Error when it could not be saved. */
export async function savedRevision(draft: Pick<DraftEditing, "flush">): Promise<number> {
  const revision = await draft.flush();
  if (revision === null) throw new Error("The draft is not saved. See the note above the file first.");
  return revision;
}

export function useDraft(prompt: OwnPrompt): DraftEditing {
  const { promptId } = prompt;
  const queries = useQueryClient();
  const [source, setSource] = useState(prompt.source);
  const [status, setStatus] = useState<DraftStatus>("saved");
  const [fault, setFault] = useState<Fault | null>(null);
  const [revision, setRevision] = useState(prompt.draft?.revision ?? 0);
  const now = useRef(known(prompt));
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const saving = useRef(Promise.resolve(true));

  const isUnsaved = () => now.current.source !== now.current.saved;
  const setKnown = (next: OwnPrompt) => {
    now.current.revision = next.draft?.revision ?? 0;
    setRevision(now.current.revision);
    queries.setQueryData(ownPromptQuery(promptId).queryKey, next);
  };
  const send = async (): Promise<boolean> => {
    const { source: text, revision: base } = now.current;
    setStatus("saving");
    try {
      setKnown(await manage.send("saveDraft", { params: { promptId }, body: { source: text, revision: base } }));
      now.current.saved = text;
      now.current.hasConflict = false;
      setFault(null);
      setStatus(now.current.source === text ? "saved" : "unsaved");
      return true;
    } catch (error) {
      setFault(faultOf(error));
      now.current.hasConflict = isConflict(error);
      setStatus(now.current.hasConflict ? "conflict" : "failed");
      return false;
    }
  };
  /** One save at a time, so that each has the revision that the one before it left. */
  const save = (): Promise<boolean> => {
    saving.current = saving.current.then(send);
    return saving.current;
  };
  const flush: DraftEditing["flush"] = async ({ isForced } = { isForced: false }) => {
    clearTimeout(timer.current);
    await saving.current;
    // In a conflict what is stored is not what is on the screen, whatever is typed.
    const isDue = isUnsaved() || now.current.hasConflict || (isForced && now.current.revision === 0);
    return !isDue || (await save()) ? now.current.revision : null;
  };
  const change = (text: string) => {
    if (text === now.current.source) return;
    now.current.source = text;
    setSource(text);
    if (now.current.hasConflict) return;
    setStatus("unsaved");
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void save(), SAVE_MS);
  };
  const load = (next: OwnPrompt) => {
    clearTimeout(timer.current);
    now.current = known(next);
    setSource(next.source);
    setKnown(next);
    setFault(null);
    setStatus("saved");
  };
  const overwrite = async () => {
    setKnown(await manage.send("getPrompt", { params: { promptId } }));
    await save();
  };
  useLeaving({ isUnsaved, save: async () => (await flush()) !== null });
  const read = () => now.current.source;
  return { source, status, fault, revision, change, read, flush, overwrite, load };
}
