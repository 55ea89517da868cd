/** What a caller reads when a run was not created. */
import { countOf } from "@promptd/contract";
import { keyExpired, keyRevoked } from "../../accounts/index.ts";
import { invalid, notFound, Problem } from "../../platform/problem.ts";
import type { CreateOutcome, RunToCreate } from "./create-store.ts";
import { keyConflict } from "./idempotency.ts";
import type { Quote } from "./quote.ts";

type Refused = Exclude<CreateOutcome, { readonly runId: string } | { readonly kind: "other_terms" }>;

type RefusedRun = Pick<RunToCreate, "promptVersionId" | "activeRunsMax"> & Pick<Quote, "hold" | "estimate">;

export function refusalOf(outcome: Refused, run: RefusedRun): Problem {
  switch (outcome.kind) {
    case "revoked":
      return keyRevoked(outcome.at);
    case "expired":
      return keyExpired(outcome.at);
    case "key_conflict":
      return keyConflict();
    case "not_found":
      return notFound("published prompt version", run.promptVersionId);
    case "not_allowed":
      return promptNotAllowed();
    case "capped":
      return capReached(run.hold, outcome);
    case "frozen":
      return unpaid(
        "This account is frozen. It keeps its credits but cannot start runs that cost credits. Ask the operator of this server to check the account.",
        { reason: "ACCOUNT_FROZEN" },
      );
    case "no_credits":
      return tooFewCredits(run, outcome.available);
    case "too_many_active":
      break;
  }
  return tooManyActive(run.activeRunsMax);
}

function unpaid(message: string, data: Readonly<Record<string, unknown>>): Problem {
  return new Problem("PAYMENT_REQUIRED_ERROR", message, { data });
}

/** The prompt is public and the key is the caller's own, so this reveals nothing that the caller may not know. */
function promptNotAllowed(): Problem {
  const message =
    "The owner of this API key limited it to other prompts. Use another key, or ask the owner to allow this prompt.";
  return invalid([{ path: ["body", "promptVersionId"], code: "not_allowed", message }]);
}

function capReached(required: number | null, { left, opensAt }: Extract<Refused, { kind: "capped" }>): Problem {
  const [day] = opensAt.toISOString().split("T");
  return unpaid(
    `This run needs ${countOf(required ?? 0, "credit")}, but this API key may spend only ${left} more this month. Its monthly cap resets on ${day} (UTC).`,
    { reason: "KEY_CAP_REACHED", required, left, opensAt: opensAt.toISOString() },
  );
}

function tooFewCredits({ hold: required, estimate }: RefusedRun, available: number): Problem {
  const estimated = estimate();
  const needs = `This run needs ${countOf(required ?? 0, "credit")}`;
  const usual = estimated === required ? "" : ` It usually costs ${estimated}; unused credits are returned.`;
  return unpaid(
    `${needs}, but only ${countOf(available, "is", "are")} available.${usual} Ask an operator of this server for more credits.`,
    { reason: "INSUFFICIENT_CREDITS", required, available, estimated },
  );
}

function tooManyActive(activeRunsMax: number): Problem {
  const count = activeRunsMax.toLocaleString("en-US");
  return new Problem(
    "TOO_MANY_REQUESTS_ERROR",
    `This account already has ${count} queued or running runs, the maximum. Wait for some to finish.`,
    { data: { reason: "TOO_MANY_ACTIVE_RUNS", limit: activeRunsMax }, headers: { "retry-after": "1" } },
  );
}
