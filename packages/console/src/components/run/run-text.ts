/** Streams a run's text while the model writes it. */
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

/** The text by output, until the run is final. The browser reopens a lost stream. The polled run has the final text. */
export function useRunText(runId: string, isLive: boolean): ReadonlyMap<number, string> {
  const queries = useQueryClient();
  const [written, setWritten] = useState<ReadonlyMap<number, Written>>(new Map());
  useEffect(() => {
    setWritten(new Map());
    if (!isLive) return undefined;
    // An event stream cannot send headers, so the URL names the account.
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
