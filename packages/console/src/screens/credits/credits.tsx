import type { JournalEntry, ManagedCredits } from "@promptd/contract/manage";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Coins } from "lucide-react";
import { creditsQuery, journalQuery } from "../../api.ts";
import { QueryFailure } from "../../components/query-states.tsx";
import { formatDay, formatTime, formatWhole } from "../../components/format.ts";
import { ListPanel } from "../../components/list-panel.tsx";
import { Page } from "../../components/shell/page.tsx";
import { Empty, Failure } from "../../components/ui/empty.tsx";
import { Skeleton } from "../../components/ui/skeleton.tsx";
import { Table, Td } from "../../components/ui/table.tsx";
import { useAuthorShare } from "../../components/prompt/use-author-share.ts";
import { Usage } from "./usage.tsx";

export function CreditsScreen() {
  const credits = useQuery(creditsQuery);
  return (
    <Page title="Credits">
      {credits.isLoadingError ? (
        <QueryFailure what="The balance" query={credits} />
      ) : (
        <Balance credits={credits.data} />
      )}
      <Usage />
      <Journal />
    </Page>
  );
}

function Balance({ credits }: { readonly credits: ManagedCredits | undefined }) {
  const isFrozen = credits !== undefined && credits.frozen !== null;
  const use = isFrozen ? "for new runs, once unfrozen" : "for new runs";
  const figures = [
    { label: "Available", value: credits?.available, note: use },
    { label: "Held", value: credits?.held, note: "set aside for runs in progress" },
  ];
  return (
    <>
      {credits?.frozen === null || credits === undefined ? null : (
        <Failure title={`This account has been frozen since ${formatDay(credits.frozen.since)}.`}>
          {credits.frozen.reason ?? "Runs that cost credits can’t start until an operator unfreezes it."}
        </Failure>
      )}
      <div className="grid gap-px overflow-clip rounded-3 border border-line bg-line sm:grid-cols-2">
        {figures.map(({ label, value, note }) => (
          <div key={label} className="grid gap-0.5 bg-panel px-4 pt-3 pb-4">
            <span className="text-dim">{label}</span>
            {value === undefined ? (
              <Skeleton className="my-1 h-7 w-32" />
            ) : (
              <span className="text-28 font-semibold tabular-nums">{formatWhole(value)}</span>
            )}
            <span className="text-12 text-dim">{note}</span>
          </div>
        ))}
      </div>
    </>
  );
}

const KINDS: Readonly<Record<JournalEntry["kind"], { readonly word: string; readonly sign: "+" | "−" | "" }>> = {
  grant: { word: "Granted", sign: "+" },
  hold: { word: "Held", sign: "−" },
  capture: { word: "Charged", sign: "" },
  release: { word: "Released", sign: "+" },
  expire: { word: "Expired", sign: "−" },
  adjust: { word: "Adjusted", sign: "" },
  earn: { word: "Earned", sign: "+" },
};

function Journal() {
  const journal = useInfiniteQuery(journalQuery);
  const share = useAuthorShare();
  const empty = (
    <Empty icon={Coins} title="No transactions yet">
      Grants, holds, charges, and earnings appear here. To get credits, ask an operator. {share}
    </Empty>
  );
  return (
    <ListPanel list={journal} what="The journal" title="Journal" empty={empty}>
      {(rows) => (
        <Table
          label="Journal"
          columns={[
            "When",
            { label: "What", fill: true },
            { label: "Credits", num: true },
            { label: "Available after", num: true, from: "sm" },
          ]}
        >
          {rows.map((row) => (
            <EntryRow key={row.entryId} row={row} />
          ))}
        </Table>
      )}
    </ListPanel>
  );
}

function EntryRow({
  row: { at, kind, amount, creditsAfter, runId, title, reason, expiresAt },
}: {
  readonly row: JournalEntry;
}) {
  const { word, sign } = KINDS[kind];
  const expiry = expiresAt === null ? (kind === "grant" ? "no expiry" : null) : `expires ${formatDay(expiresAt)}`;
  const about = [reason, expiry].filter((part) => part !== null).join("; ");
  return (
    <tr className="hover:bg-hover">
      <Td>
        <time dateTime={at} title={at}>
          {formatTime(at)}
        </time>
      </Td>
      <Td fill>
        <span className="block grid-cols-[80px_minmax(0,1fr)] gap-x-3 max-sm:py-1.5 sm:grid">
          <span>{word}</span>
          <span className="block truncate max-sm:text-dim">
            {runId === null ? (
              <span title={about}>{about}</span>
            ) : (
              <Link to="/runs/$runId" params={{ runId }} data-row title={title ?? runId} className="hover:underline">
                {title ?? <code className="text-12">{runId}</code>}
              </Link>
            )}
          </span>
        </span>
      </Td>
      <Td num>
        {kind === "capture" ? (
          <span className="text-dim" title="These credits were held when the run was created">
            {formatWhole(amount)} from hold
          </span>
        ) : (
          `${sign}${formatWhole(amount)}`
        )}
      </Td>
      <Td num from="sm">
        {formatWhole(creditsAfter)}
      </Td>
    </tr>
  );
}
