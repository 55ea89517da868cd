import type { MarketplacePrompt } from "@promptd/contract/manage";
import { useQueryClient } from "@tanstack/react-query";
import { ThumbsUp } from "lucide-react";
import { manage, promptQuery } from "../../api.ts";
import { runWithToast } from "../../components/run-with-toast.ts";
import { formatCompact } from "../../components/format.ts";
import { Button } from "../../components/ui/button.tsx";

/** One vote per person and prompt. It can be withdrawn. */
export function Vote({ prompt: { slug, vote, upVotes } }: { readonly prompt: MarketplacePrompt }) {
  const queries = useQueryClient();
  const hasVoted = vote === "up";
  const change = () =>
    runWithToast(
      async () => {
        const body = { vote: hasVoted ? "none" : "up" } as const;
        const next = await manage.send("voteForPrompt", { params: { slug }, body });
        queries.setQueryData(promptQuery(slug).queryKey, (old) => old && { ...old, ...next });
        void queries.invalidateQueries({ queryKey: ["marketplace"] });
      },
      hasVoted ? "Vote removed" : "Vote counted",
    );
  return (
    <Button aria-pressed={hasVoted} onClick={() => void change()}>
      <ThumbsUp
        aria-hidden
        className={hasVoted ? "size-4 fill-accent-soft text-accent" : "size-4"}
        strokeWidth={1.75}
      />
      {hasVoted ? "Voted" : "Vote"}
      <span className="text-dim tabular-nums">{formatCompact(upVotes)}</span>
    </Button>
  );
}
