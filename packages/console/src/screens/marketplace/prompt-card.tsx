import type { SearchRow } from "@promptd/contract";
import { Link } from "@tanstack/react-router";
import { ArrowUp, Clapperboard, Image, Play, Type } from "lucide-react";
import { memo } from "react";
import { Cover } from "../../components/prompt/cover.tsx";
import { formatCompact, formatCredits } from "../../components/format.ts";

const KINDS = {
  text: { icon: Type, label: "Text" },
  image: { icon: Image, label: "Image" },
  video: { icon: Clapperboard, label: "Video" },
} as const;

/** A card on wide screens, a row with a small cover on narrow ones. */
export const PromptCard = memo(function PromptCard({ row }: { readonly row: SearchRow }) {
  const { icon: Icon, label } = KINDS[row.configs.modality];
  return (
    <li className="min-w-0 [contain-intrinsic-size:auto_260px] [content-visibility:auto]">
      <Link
        to="/p/$slug"
        params={{ slug: row.slug }}
        className="group grid grid-cols-[112px_minmax(0,1fr)] gap-x-3 gap-y-2.5 rounded-3 sm:grid-cols-[minmax(0,1fr)]"
      >
        <Cover promptId={row.promptId} modality={row.configs.modality} samples={row.samples} />
        <div className="grid min-w-0 content-start gap-1 sm:px-0.5">
          <h2 className="line-clamp-2 [overflow-wrap:anywhere] group-hover:underline group-hover:underline-offset-3">
            {row.title}
          </h2>
          <p className="line-clamp-2 text-dim [overflow-wrap:anywhere] empty:hidden">{row.description}</p>
          <p className="flex flex-wrap items-center gap-x-3 gap-y-0.5 pt-0.5 text-12 text-dim tabular-nums">
            <span className="inline-flex items-center gap-1.5">
              <Icon aria-hidden className="size-3.5" strokeWidth={1.75} />
              {label} · {formatCredits(row.estimatedCredits)}
            </span>
            <span className="inline-flex items-center gap-1 sm:ml-auto" title={`${row.uses} uses`}>
              <Play aria-hidden className="size-3.5" strokeWidth={1.75} />
              <span className="sr-only">Uses:</span> {formatCompact(row.uses)}
            </span>
            <span className="inline-flex items-center gap-1" title={`${row.upVotes} votes`}>
              <ArrowUp aria-hidden className="size-3.5" strokeWidth={1.75} />
              <span className="sr-only">Votes:</span> {formatCompact(row.upVotes)}
            </span>
          </p>
        </div>
      </Link>
    </li>
  );
});
