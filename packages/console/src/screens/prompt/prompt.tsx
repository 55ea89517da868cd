import type { MarketplacePrompt } from "@promptd/contract/manage";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { SquarePen } from "lucide-react";
import { isMissing, promptQuery } from "../../api.ts";
import { Missing, QueryFailure } from "../../components/query-states.tsx";
import { formatCompact, formatDay } from "../../components/format.ts";
import { Page } from "../../components/shell/page.tsx";
import { buttonClass } from "../../components/ui/button.tsx";
import { BlockShapes, Loading, Skeleton } from "../../components/ui/skeleton.tsx";
import { Playground } from "./playground.tsx";
import { Versions } from "./versions.tsx";
import { Vote } from "./vote.tsx";

export function PromptScreen() {
  const { slug } = useParams({ from: "/inside/p/$slug" });
  const { run } = useSearch({ from: "/inside/p/$slug" });
  const prompt = useQuery(promptQuery(slug));
  if (isMissing(prompt.error)) return <Gone />;
  if (prompt.isLoadingError) {
    return (
      <Page title="Prompt" path={<Path />}>
        <QueryFailure what="The prompt" query={prompt} />
      </Page>
    );
  }
  if (prompt.data === undefined) return <PromptShapes />;
  return (
    <Page
      title={prompt.data.title}
      path={<Path slug={slug} />}
      meta={<Meta prompt={prompt.data} />}
      actions={
        <>
          {prompt.data.isOwn ? <EditLink promptId={prompt.data.promptId} /> : null}
          <Vote prompt={prompt.data} />
        </>
      }
    >
      {prompt.data.description === "" ? null : (
        <p className="-mt-3 max-w-[72ch] text-14 text-dim [overflow-wrap:anywhere]">{prompt.data.description}</p>
      )}
      <Playground key={prompt.data.promptVersionId} prompt={prompt.data} givenRunId={run ?? null} />
      <Versions slug={slug} />
    </Page>
  );
}

/** For its author. */
function EditLink({ promptId }: { readonly promptId: string }) {
  return (
    <Link to="/author/$promptId" params={{ promptId }} className={buttonClass()}>
      <SquarePen aria-hidden className="size-4" strokeWidth={1.75} />
      Edit prompt
    </Link>
  );
}

function Path({ slug }: { readonly slug?: string }) {
  return (
    <nav aria-label="Path" className="flex min-w-0 gap-2">
      <Link to="/" className="hover:text-ink">
        Marketplace
      </Link>
      {slug === undefined ? null : (
        <>
          <span aria-hidden>›</span>
          <span className="truncate">{slug}</span>
        </>
      )}
    </nav>
  );
}

function Meta({ prompt: { author, publishedAt, configs, uses, tags } }: { readonly prompt: MarketplacePrompt }) {
  return (
    <>
      {author === null ? null : <span>{author}</span>}
      <span>published {formatDay(publishedAt)}</span>
      <code>{configs.model}</code>
      <span>
        {formatCompact(uses)} {uses === 1 ? "use" : "uses"}
      </span>
      {tags.length === 0 ? null : <span>{tags.join(", ")}</span>}
    </>
  );
}

function Gone() {
  return (
    <Page title="No such prompt" hasHead={false}>
      <Missing title="Prompt not found" to="/" label="Open the marketplace">
        It was unpublished, or the address is wrong.
      </Missing>
    </Page>
  );
}

function PromptShapes() {
  return (
    <Page title="Prompt" path={<Path />} hasHead={false}>
      <Loading what="the prompt">
        <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
          <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
            <Skeleton className="h-3 w-40" />
            <Skeleton className="h-7 w-72 max-w-full" />
            <Skeleton className="h-3 w-96 max-w-full" />
          </div>
          <BlockShapes
            className="lg:grid-cols-[336px_minmax(0,1fr)] xl:grid-cols-[384px_minmax(0,1fr)]"
            heights={[["h-96"], ["h-96"]]}
          />
        </div>
      </Loading>
    </Page>
  );
}
