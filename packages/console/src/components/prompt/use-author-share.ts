import type { OwnPrompt } from "@promptd/contract/manage";
import { useQuery } from "@tanstack/react-query";
import { sessionQuery } from "../../api.ts";

/** A sentence that says what the author earns; null if nothing. */
export function useAuthorShare(prompt?: OwnPrompt): string | null {
  const { data: session } = useQuery(sessionQuery);
  const percent = prompt?.authorSharePercent ?? session?.features.authorSharePercent ?? 0;
  if (percent === 0) return null;
  return `You earn ${percent}% of what others pay for ${prompt === undefined ? "runs of your prompts" : "its runs"}.`;
}
