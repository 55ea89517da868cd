import type { RunStatus } from "@promptd/contract";
import { Status, type StateTone } from "../ui/badge.tsx";

const STATES: Readonly<Record<RunStatus, { readonly tone: StateTone; readonly word: string }>> = {
  queued: { tone: "neutral", word: "Queued" },
  running: { tone: "live", word: "Running" },
  succeeded: { tone: "ok", word: "Succeeded" },
  failed: { tone: "bad", word: "Failed" },
};

export function RunState({ status }: { readonly status: RunStatus }) {
  const { tone, word } = STATES[status];
  return <Status tone={tone}>{word}</Status>;
}

export const runWord = (status: RunStatus): string => STATES[status].word;
