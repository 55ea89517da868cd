/** The text of a run while it is written, as the server sends it. */
import type { RunEvent } from "@promptd/contract";
import { ACCOUNT_QUERY } from "@promptd/contract/manage";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { chosenAccount } from "../../account.ts";
import { runQuery } from "../../api.ts";

type TextEvent = Extract<RunEvent, { event: "text" }>["data"];

interface Written {
  readonly call: number;
  readonly text: string;
}

/** By output, until the run is final. The browser opens a lost stream again by itself; the polled run has the text at its end. */
export function useRunText(runId: string, isLive: boolean): ReadonlyMap<number, string> {
  const queries = useQueryClient();
  const [written, setWritten] = useState<ReadonlyMap<number, Written>>(new Map());
  useEffect(() => {
    setWritten(new Map());
    if (!isLive) return undefined;
    // A stream carries no header, so its address names the account.
    const account = chosenAccount();
    const query = account === null ? "" : `?${new URLSearchParams({ [ACCOUNT_QUERY]: account }).toString()}`;
    const source = new EventSource(`/manage/v1/runs/${encodeURIComponent(runId)}/events${query}`);
    source.addEventListener("text", ({ data }: MessageEvent<string>) => {
      const { index, call, text } = JSON.parse(data) as TextEvent;
      setWritten((old) => {
        const before = old.get(index);
        if (before !== undefined && before.call > call) return old;
        const start = before?.call === call ? before.text : "";
        return new Map(old).set(index, { call, text: start + text });
      });
    });
    const refresh = () => void queries.invalidateQueries({ queryKey: runQuery(runId).queryKey });
    source.addEventListener("status", refresh);
    source.addEventListener("done", () => {
      source.close();
      refresh();
    });
    return () => source.close();
  }, [runId, isLive, queries]);
  return new Map([...written].map(([index, { text }]) => [index, text]));
}
