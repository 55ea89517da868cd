/** A draft's text. It saves itself and never overwrites what someone else saved. */
import { PromptdError } from "@promptd/client/manage";
import type { OwnPrompt } from "@promptd/contract/manage";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { faultOf, manage, mayPass, ownPromptQuery, type Fault } from "../../api.ts";
import { useLeaving } from "../../components/unsaved-changes.ts";

/** `retrying`: saving failed and is retried automatically. `failed`: the text cannot be saved as it is. */
type DraftStatus = "saved" | "unsaved" | "saving" | "conflict" | "retrying" | "failed";

export interface DraftEditing {
  readonly source: string;
  readonly status: DraftStatus;
  readonly fault: Fault | null;
  /** 0 if there is no draft. */
  readonly revision: number;
  readonly change: (source: string) => void;
  /** Returns the current text. `source` is the text of the last render. */
  readonly read: () => string;
  /** Saves unsaved text. @returns the revision of the text on screen, or null if it could not be saved. */
  readonly flush: (options?: { readonly isForced: boolean }) => Promise<number | null>;
  /** After a conflict: overwrites the other text with this one. @throws Error when that fails. */
  readonly overwrite: () => Promise<void>;
  /** Replaces the text on screen with the server's. */
  readonly load: (prompt: OwnPrompt) => void;
}

/** How long to wait after the last keystroke before saving. */
const SAVE_MS = 800;
/** The delay after a temporary failure. Each further failure doubles it. */
const RETRY_MS = 2_000;
const RETRY_MS_MAX = 30_000;

const isConflict = (error: unknown) =>
  error instanceof PromptdError && error.issues.some(({ code }) => code === "conflict");

const known = ({ source, draft }: OwnPrompt) => ({ source, saved: source, revision: draft?.revision ?? 0 });

/** Saves before actions that must not miss unsaved text. @returns its revision. @throws Error when saving fails. */
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
    // In a conflict the stored text differs from the screen, whatever is typed.
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
    // A save whose response was lost is not a conflict: the stored text is this text.
    const stored = await manage.send("getPrompt", { params: { promptId } });
    if (stored.draft !== null && stored.source === source) return stored;
    throw error;
  }
}

/** Decides when to send the text and tracks the result. `send` returns whether nothing was typed meanwhile. */
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
  /** Saves one at a time, so that each save has the revision of the previous one. Resolves with what went wrong. */
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

/** A failure message stays until a save succeeds. */
const whileTrying =
  (next: DraftStatus) =>
  (old: SavingState): SavingState =>
    old.status === "retrying" ? old : { ...old, status: next };
