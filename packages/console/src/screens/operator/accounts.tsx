import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Wallet } from "lucide-react";
import { formatDay, formatWhole } from "../../components/format.ts";
import { ListPanel } from "../../components/list-panel.tsx";
import { Badge } from "../../components/ui/badge.tsx";
import { cx } from "../../components/ui/class-names.ts";
import { Empty } from "../../components/ui/empty.tsx";
import { Breakable, NAME_OF_ROW, Table, Td } from "../../components/ui/table.tsx";
import { accountsQuery } from "./queries.ts";
import { SearchBox } from "./search-box.tsx";

export function AccountsSection() {
  const { q } = useSearch({ from: "/inside/operator/accounts" });
  const navigate = useNavigate({ from: "/operator/accounts" });
  return (
    <>
      <SearchBox
        label="Name, email, or ID"
        about="Accounts pay for runs and own keys and prompts."
        value={q}
        onSearch={(text) => void navigate({ search: { q: text }, replace: true })}
      />
      <Accounts q={q} />
    </>
  );
}

function Accounts({ q }: { readonly q: string | undefined }) {
  const accounts = useInfiniteQuery(accountsQuery(q));
  return (
    <ListPanel list={accounts} what="The accounts" empty={<Empty icon={Wallet} title="No accounts match" />}>
      {(rows) => (
        <Table
          label="Accounts"
          columns={[
            { label: "Account", fill: true },
            "Plan",
            { label: "Available", num: true },
            { label: "Since", num: true, from: "sm" },
          ]}
        >
          {rows.map(({ accountId, email, name, plan, planUntil, available, isFrozen, createdAt }) => (
            <tr key={accountId} className="hover:bg-hover">
              <Td fill whole>
                <Link
                  to="/operator/accounts/$accountId"
                  params={{ accountId }}
                  data-row
                  className={cx(NAME_OF_ROW, "hover:underline hover:underline-offset-3")}
                >
                  {name ?? <Breakable text={email} />}
                </Link>
                {name === null ? null : (
                  <span className="text-dim max-lg:block lg:pl-2">
                    <Breakable text={email} />
                  </span>
                )}
              </Td>
              <Td>
                <span className="inline-flex gap-1">
                  <PlanBadge plan={plan} until={planUntil} />
                  {isFrozen ? <Badge tone="bad">frozen</Badge> : null}
                </span>
              </Td>
              <Td num>{formatWhole(available)}</Td>
              <Td num from="sm">
                {formatDay(createdAt)}
              </Td>
            </tr>
          ))}
        </Table>
      )}
    </ListPanel>
  );
}

interface PlanBadgeProps {
  readonly plan: "pro" | "none";
  readonly until: string | null;
}

export function PlanBadge({ plan, until }: PlanBadgeProps) {
  if (plan === "pro") return <Badge tone="ok">{until === null ? "pro" : `pro until ${formatDay(until)}`}</Badge>;
  return (
    <Badge tone={until === null ? "neutral" : "warn"}>{until === null ? "none" : `ended ${formatDay(until)}`}</Badge>
  );
}
