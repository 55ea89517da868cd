/** What the account can pay for a run, and what prevents it. */
import type { SessionInfo } from "@promptd/contract/manage";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { chosenAccount } from "../../account.ts";
import { creditsQuery, sessionQuery } from "../../api.ts";
import { countCredits, formatWhole } from "../../components/format.ts";

/** How often to refresh an account that lacks something, which an operator grants on another page. */
const AGAIN_MS = 5_000;

export interface Means {
  readonly available: number;
  /** What a run holds. Null if nothing, as for an author. */
  readonly required: number | null;
  /** Null if a run may start. */
  readonly lacks: "plan" | "credits" | null;
}

/** Undefined if not known yet. */
export function useMeans(required: number | null): Means | undefined {
  const isShort = (available: number | undefined) =>
    required !== null && available !== undefined && available < required;
  const { data: credits } = useQuery({
    ...creditsQuery,
    refetchInterval: ({ state }) => isShort(state.data?.available) && AGAIN_MS,
  });
  const { data: session } = useQuery({
    ...sessionQuery,
    refetchInterval: ({ state }) => hasPlan(state.data) === false && AGAIN_MS,
  });
  if (credits === undefined) return undefined;
  const { available } = credits;
  const lacks = hasPlan(session) === false ? "plan" : isShort(available) ? "credits" : null;
  return { available, required, lacks };
}

const hasPlan = (session: SessionInfo | undefined) =>
  session?.accounts.find(({ accountId }) => accountId === chosenAccount())?.hasPlan;

/** Shown next to the button: what is left, or why it is disabled and who can help. */
export function MeansNote({ means }: { readonly means: Means | undefined }) {
  const { data: session } = useQuery(sessionQuery);
  if (means === undefined) return null;
  const { available, required, lacks } = means;
  if (lacks === null) {
    return (
      <span className="tabular-nums">
        {countCredits(available)} left.
        <br />
        {required === null ? "This prompt is free for you." : "A failed run costs nothing."}
      </span>
    );
  }
  const sentence =
    lacks === "plan"
      ? "This account has no plan yet, so it cannot run prompts."
      : `${countCredits(available)} left. This run needs ${formatWhole(required ?? 0)}.`;
  return (
    <span className="text-warn">
      {sentence}{" "}
      {session?.person.isOperator === true ? (
        <Link
          to="/operator/accounts/$accountId"
          params={{ accountId: chosenAccount() ?? session.accountId }}
          className="underline underline-offset-2"
        >
          {lacks === "plan" ? "Set a plan" : "Grant credits"}
        </Link>
      ) : lacks === "plan" ? (
        "Ask an operator of this server for one."
      ) : (
        "Ask an operator of this server for credits."
      )}
    </span>
  );
}
