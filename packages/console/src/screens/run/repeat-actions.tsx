/** Running a run's inputs again: as they were, or after changing them. */
import { randomKey } from "@promptd/client/manage";
import type { CreateRunBody } from "@promptd/contract";
import type { ManagedRun, RunQuote } from "@promptd/contract/manage";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { createRun, creditsQuery, faultOf, isMissing, manage, promptQuery } from "../../api.ts";
import { formatCredits } from "../../components/format.ts";
import { Button, buttonClass } from "../../components/ui/button.tsx";
import { toast } from "../../components/ui/toast.tsx";

/** A draft's page is the editor. A prompt that is no longer published has no page. */
export function RepeatActions({ run }: { readonly run: ManagedRun }) {
  const { slug, runId, promptId, isTest, isOwnPrompt } = run;
  const { error } = useQuery({ ...promptQuery(slug), enabled: !isTest });
  const body = bodyOf(run);
  const quote = useQuery({
    queryKey: ["quote", runId],
    queryFn: ({ signal }) => manage.send("quoteRun", { body, signal }),
    enabled: !isTest && run.inputs.images === 0,
    retry: false,
  });
  if (isTest || isMissing(error)) {
    if (!isOwnPrompt) return null;
    return (
      <Link
        to="/author/$promptId"
        params={{ promptId }}
        search={isTest ? { run: runId } : {}}
        className={buttonClass({ tone: "main" })}
      >
        Open in editor
      </Link>
    );
  }
  const canRepeat = quote.data !== undefined;
  return (
    <>
      <Link
        to="/p/$slug"
        params={{ slug }}
        search={{ run: runId }}
        className={buttonClass({ tone: canRepeat ? "plain" : "main" })}
      >
        Edit and run again
      </Link>
      {canRepeat ? <RunAgain body={body} quote={quote.data} /> : null}
    </>
  );
}

/** Of the same version, with the same texts and options. Images are not stored. */
function bodyOf({ promptVersionId, inputs: { textInputs }, runOptions }: ManagedRun): CreateRunBody {
  return { promptVersionId, inputs: { textInputs }, runOptions };
}

interface RunAgainProps {
  readonly body: CreateRunBody;
  readonly quote: RunQuote;
}

function RunAgain({ body, quote: { estimate } }: RunAgainProps) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [isSending, setSending] = useState(false);
  /** The same until a run is created, so that a lost response does not cause a second run. */
  const key = useRef<string | null>(null);
  const start = async () => {
    setSending(true);
    key.current ??= randomKey();
    try {
      const runId = await createRun(body, key.current);
      await navigate({ to: "/runs/$runId", params: { runId } });
    } catch (error) {
      toast(faultOf(error).message, { isBad: true });
      setSending(false);
    } finally {
      void queries.invalidateQueries({ queryKey: creditsQuery.queryKey });
    }
  };
  return (
    <Button tone="main" disabled={isSending} onClick={() => void start()}>
      {estimate === 0 ? "Run again" : `Run again for ${formatCredits(estimate)}`}
    </Button>
  );
}
