import { randomKey } from "@promptd/client/manage";
import type { OwnPrompt, TestRunBody } from "@promptd/contract/manage";
import { manage } from "../../api.ts";
import type { Checked } from "./use-check.ts";
import type { DraftEditing } from "./use-draft.ts";

export interface DraftTabProps {
  readonly prompt: OwnPrompt;
  readonly draft: DraftEditing;
  readonly checked: Checked;
}

/** Makes a run of the draft as it is saved. @returns its id. */
export async function createTestRun(promptId: string, body: TestRunBody): Promise<string> {
  const headers = { prefer: "respond-async, stream", "idempotency-key": randomKey() };
  const { data } = await manage.call("createTestRun", { params: { promptId }, query: {}, body, headers });
  return data.runId;
}
