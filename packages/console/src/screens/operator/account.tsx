import type { AccountDetail } from "@promptd/contract/manage";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { creditsQuery, isMissing } from "../../api.ts";
import { Facts } from "../../components/facts.tsx";
import { countCredits, formatDay } from "../../components/format.ts";
import { Missing, QueryFailure, RowShapes } from "../../components/query-states.tsx";
import { Button, buttonClass } from "../../components/ui/button.tsx";
import { Failure } from "../../components/ui/empty.tsx";
import { Panel } from "../../components/ui/panel.tsx";
import { PlanBadge } from "./accounts.tsx";
import { AccountDialog, type AccountAction } from "./account-dialogs.tsx";
import { accountQuery } from "./queries.ts";

export function AccountSection() {
  const { accountId } = useParams({ from: "/inside/operator/accounts/$accountId" });
  const account = useQuery(accountQuery(accountId));
  if (isMissing(account.error)) {
    return (
      <Missing title="Account not found" to="/operator/accounts" label="Find an account">
        Check the ID. The account may have been deleted.
      </Missing>
    );
  }
  if (account.isLoadingError) return <QueryFailure what="The account" query={account} />;
  if (account.data === undefined) return <RowShapes what="the account" />;
  return <Account account={account.data} />;
}

function Account({ account }: { readonly account: AccountDetail }) {
  const { accountId, name, email, credits, createdAt } = account;
  const queries = useQueryClient();
  const [action, setAction] = useState<AccountAction | null>(null);
  const { frozen } = credits;
  return (
    <>
      <header className="flex flex-wrap items-start justify-between gap-3">
        <div className="grid gap-1">
          <h2 className="text-16! [overflow-wrap:anywhere]">{name ?? email}</h2>
          <p className="text-12 text-dim">
            {name === null ? "" : `${email} · `}since {formatDay(createdAt)}
          </p>
        </div>
        <div className="flex flex-wrap gap-2">
          <Link to="/operator/runs" search={{ accountId }} className={buttonClass()}>
            Runs
          </Link>
          <Link to="/operator/audit" search={{ accountId }} className={buttonClass()}>
            Audit
          </Link>
          <Button onClick={() => setAction("plan")}>Change plan</Button>
          <Button
            tone={frozen === null ? "danger" : "plain"}
            onClick={() => setAction(frozen === null ? "freeze" : "unfreeze")}
          >
            {frozen === null ? "Freeze" : "Unfreeze"}
          </Button>
          <Button tone="main" onClick={() => setAction("grant")}>
            Grant credits
          </Button>
        </div>
      </header>
      {frozen === null ? null : (
        <Failure title={`Frozen since ${formatDay(frozen.since)}.`}>
          {frozen.reason ?? "It cannot start runs that cost credits."}
        </Failure>
      )}
      <Details account={account} />
      <AccountDialog
        action={action}
        account={account}
        onClose={() => setAction(null)}
        onDone={async () => {
          void queries.invalidateQueries({ queryKey: creditsQuery.queryKey }); // it may be the operator's own account
          await queries.invalidateQueries({ queryKey: ["operator"] });
        }}
      />
    </>
  );
}

function Details({ account }: { readonly account: AccountDetail }) {
  const { accountId, email, credits, members, plan, planUntil } = account;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 xl:grid-cols-2">
      <Panel title="Account">
        <Facts
          facts={[
            { label: "Plan", value: <PlanBadge plan={plan} until={planUntil} /> },
            { label: "Available", value: countCredits(credits.available) },
            { label: "Held", value: countCredits(credits.held) },
            { label: "ID", value: <code className="text-12">{accountId}</code> },
          ]}
        />
      </Panel>
      <Panel title="Members">
        {members.length === 0 ? (
          <p className="text-dim">
            No one has signed in to this account. To create a link that signs its owner in, run{" "}
            <code className="text-12">promptd admin sign-in-link --user {email}</code> on the server.
          </p>
        ) : (
          <Facts
            facts={members.map((member) => ({
              label: member.role,
              value: (
                <Link to="/operator/people" search={{ q: member.email }} className="hover:underline">
                  {member.name} <span className="text-dim">{member.email}</span>
                </Link>
              ),
            }))}
          />
        )}
      </Panel>
    </div>
  );
}
