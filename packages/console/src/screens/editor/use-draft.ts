/** The text of a draft, which saves itself and never overwrites what somebody else has saved. */
import { PromptdError } from "@promptd/client/manage";
import type { OwnPrompt } from "@promptd/contract/manage";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { faultOf, manage, mayPass, ownPromptQuery, type Fault } from "../../api.ts";
import { useLeaving } from "../../components/unsaved-changes.ts";

/** `retrying`: it could not be saved, and is tried again by itself. `failed`: it cannot be saved as it is. */
type DraftStatus = "saved" | "unsaved" | "saving" | "conflict" | "retrying" | "failed";

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
  /** After a conflict: saves this text over the other one. @throws Error when that did not work. */
  readonly overwrite: () => Promise<void>;
  /** Shows what the server has in place of what is on the screen. */
  readonly load: (prompt: OwnPrompt) => void;
}

/** After this much quiet. */
const SAVE_MS = 800;
/** After a failure that may pass; doubled by each that follows. */
const RETRY_MS = 2_000;
const RETRY_MS_MAX = 30_000;

const isConflict = (error: unknown) =>
  error instanceof PromptdError && error.issues.some(({ code }) => code === "conflict");

const known = ({ source, draft }: OwnPrompt) => ({ source, saved: source, revision: draft?.revision ?? 0 });

/** For actions that would go past what is on the screen. @returns its revision. @throws Error when it could not be saved. */
export async function savedRevision(draft: Pick<DraftEditing, "flush">): Promise<number> {
  const revision = await draft.flush();
  if (revision === null) throw new Error("The draft is not saved. See the note above the file first.");
  return revision;
}

export function useDraft(prompt: OwnPrompt): DraftEditing {
  const { promptId } = prompt;
  const queries = useQueryClient();
  const [source, setSource] = useState(prompt.source);
  const [revision, setRevision] = useState(prompt.draft?.revision ?? 0);
  const now = useRef(known(prompt));

  const isUnsaved = () => now.current.source !== now.current.saved;
  const setKnown = (next: OwnPrompt) => {
    now.current.revision = next.draft?.revision ?? 0;
    setRevision(now.current.revision);
    queries.setQueryData(ownPromptQuery(promptId).queryKey, next);
  };
  const saving = useSaving(async () => {
    const { source: text, revision: base } = now.current;
    setKnown(await store(promptId, text, base));
    now.current.saved = text;
    return now.current.source === text;
  });
  const flush: DraftEditing["flush"] = async ({ isForced } = { isForced: false }) => {
    await saving.settle();
    // In a conflict what is stored is not what is on the screen, whatever is typed.
    const isDue = isUnsaved() || saving.hasConflict() || (isForced && now.current.revision === 0);
    return !isDue || (await saving.save()) === null ? now.current.revision : null;
  };
  const change = (text: string) => {
    if (text === now.current.source) return;
    now.current.source = text;
    setSource(text);
    saving.saveSoon();
  };
  const load = (next: OwnPrompt) => {
    now.current = known(next);
    setSource(next.source);
    setKnown(next);
    saving.clear();
  };
  const overwrite = async () => {
    setKnown(await manage.send("getPrompt", { params: { promptId } }));
    const why = await saving.save();
    if (why !== null) throw new Error(why.message);
  };
  useLeaving({ isUnsaved, save: async () => (await flush()) !== null });
  const read = () => now.current.source;
  const { status, fault } = saving;
  return { source, status, fault, revision, change, read, flush, overwrite, load };
}

async function store(promptId: string, source: string, revision: number): Promise<OwnPrompt> {
  try {
    return await manage.send("saveDraft", { params: { promptId }, body: { source, revision } });
  } catch (error) {
    if (!isConflict(error)) throw error;
    // A save whose answer was lost is no conflict: what is stored is this text.
    const stored = await manage.send("getPrompt", { params: { promptId } });
    if (stored.draft !== null && stored.source === source) return stored;
    throw error;
  }
}

/** When the text is sent, and what became of it. `send` answers whether nothing was typed meanwhile. */
function useSaving(send: () => Promise<boolean>) {
  const [{ status, fault }, setState] = useState<SavingState>({ status: "saved", fault: null });
  const now = useRef({ hasConflict: false, failures: 0, last: Promise.resolve<Fault | null>(null) });
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  const attempt = async (): Promise<Fault | null> => {
    clearTimeout(timer.current);
    setState(whileTrying("saving"));
    try {
      const isAll = await send();
      now.current.hasConflict = false;
      now.current.failures = 0;
      setState({ status: isAll ? "saved" : "unsaved", fault: null });
      return null;
    } catch (error) {
      const why = faultOf(error);
      const isPassing = mayPass(error);
      now.current.hasConflict = isConflict(error);
      setState({ status: now.current.hasConflict ? "conflict" : isPassing ? "retrying" : "failed", fault: why });
      if (isPassing) saveIn(Math.min(RETRY_MS * 2 ** now.current.failures, RETRY_MS_MAX));
      now.current.failures = isPassing ? now.current.failures + 1 : 0;
      return why;
    }
  };
  /** One save at a time, so that each has the revision that the one before it left. Resolves with what went wrong. */
  const save = () => {
    now.current.last = now.current.last.then(attempt);
    return now.current.last;
  };
  const saveIn = (ms: number) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void save(), ms);
  };
  const saveSoon = () => {
    if (now.current.hasConflict) return;
    setState(whileTrying("unsaved"));
    saveIn(SAVE_MS);
  };
  const settle = () => {
    clearTimeout(timer.current);
    return now.current.last;
  };
  const clear = () => {
    clearTimeout(timer.current);
    now.current.hasConflict = false;
    setState({ status: "saved", fault: null });
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  return { status, fault, save, saveSoon, settle, clear, hasConflict: () => now.current.hasConflict };
}

interface SavingState {
  readonly status: DraftStatus;
  readonly fault: Fault | null;
}

/** What is said of a failure stays until a save has gone well. */
const whileTrying =
  (next: DraftStatus) =>
  (old: SavingState): SavingState =>
    old.status === "retrying" ? old : { ...old, status: next };
