/** Tables of runs: of one account, and of all accounts. */
import type { InstallationRunRow, ManagedRunRow } from "@promptd/contract/manage";
import { Link } from "@tanstack/react-router";
import { memo } from "react";
import { isFinal } from "../../api.ts";
import { formatCredits, formatDuration, formatTime, formatWhole, tookMsOf } from "../format.ts";
import { cx } from "../ui/class-names.ts";
import { Table, Td } from "../ui/table.tsx";
import { RunState } from "./run-state.tsx";

interface RunTableProps {
  readonly rows: readonly ManagedRunRow[];
}

export function RunTable({ rows }: RunTableProps) {
  return (
    <Table label="Runs" columns={[...FIRST, ...LAST]}>
      {rows.map((row) => (
        <Row key={row.runId} row={row} to="/runs/$runId" fault={row.error} created={formatTime(row.createdAt)} />
      ))}
    </Table>
  );
}

interface InstallationRunTableProps {
  readonly rows: readonly InstallationRunRow[];
  /** What a cause means to an operator. */
  readonly causeWords: (cause: string) => string;
}

/** Shows each run's account, and the cause of a failure instead of the message its caller got. */
export function InstallationRunTable({ rows, causeWords }: InstallationRunTableProps) {
  return (
    <Table label="Runs" columns={[...FIRST, { label: "Account", from: "xl" }, ...LAST]}>
      {rows.map((row) => (
        <Row
          key={row.runId}
          row={row}
          to="/operator/runs/$runId"
          fault={row.cause === null ? null : causeWords(row.cause)}
          created={formatTime(row.createdAt)}
          account={row.accountId}
          accountEmail={row.accountEmail}
        />
      ))}
    </Table>
  );
}

const FIRST = ["Status", { label: "Prompt", fill: true }] as const;
const LAST = [
  { label: "Model", from: "xl" },
  { label: "Took", num: true, from: "sm" },
  { label: "Credits", num: true, from: "sm" },
  { label: "Created", num: true },
] as const;

const CUT = "max-lg:line-clamp-2 lg:min-w-2/5 lg:truncate";
/** Operators read the list for the causes. */
const WHOLE = "whitespace-normal [overflow-wrap:anywhere]";

interface RowProps {
  readonly row: ManagedRunRow;
  readonly to: "/runs/$runId" | "/operator/runs/$runId";
  /** The failure reason, in words. */
  readonly fault: string | null;
  /** Formatted by the table, because relative times change while the row does not. */
  readonly created: string;
  readonly account?: string;
  readonly accountEmail?: string;
}

/** On a phone, in place of the columns. */
function costOf({ runStatus, credits }: ManagedRunRow, tookMs: number | null): string {
  const cost = credits === null || isFinal(runStatus) ? [formatCredits(credits ?? 0)] : [];
  return [...cost, ...(tookMs === null ? [] : [formatDuration(tookMs)])].join(", ");
}

/** Memoized: when hundreds of rows are shown, only new rows cost anything to render. */
const Row = memo(function Row({ row, to, fault, created, account, accountEmail }: RowProps) {
  const tookMs = tookMsOf(row);
  return (
    <tr className="hover:bg-hover">
      <Td>
        <RunState status={row.runStatus} />
      </Td>
      <Td fill whole>
        <span
          className={cx("gap-x-3", account === undefined ? "max-lg:grid lg:flex lg:items-baseline" : "grid lg:py-1.5")}
        >
          <Link
            to={to}
            params={{ runId: row.runId }}
            data-row
            className="min-w-0 font-medium hover:underline hover:underline-offset-3 max-lg:line-clamp-2 lg:truncate"
            title={row.title}
          >
            {row.title}
          </Link>
          {row.batch === null ? null : (
            <span
              className="min-w-0 truncate text-12 text-dim"
              title={`Part of batch ${row.batch.name ?? row.batch.batchId}`}
            >
              Batch {row.batch.name}
            </span>
          )}
          {fault === null ? null : (
            <span className={cx("text-bad", account === undefined ? CUT : WHOLE)} title={fault}>
              {fault}
            </span>
          )}
          <span className="text-12 text-dim sm:hidden">{costOf(row, tookMs)}</span>
          {account === undefined ? null : (
            <span className="min-w-0 truncate text-12 text-dim xl:hidden" title={accountEmail}>
              {accountEmail}
            </span>
          )}
        </span>
      </Td>
      {account === undefined ? null : (
        <Td from="xl">
          <Link to="/operator/accounts/$accountId" params={{ accountId: account }} className="hover:underline">
            <span className="block max-w-56 truncate" title={accountEmail}>
              {accountEmail}
            </span>
          </Link>
        </Td>
      )}
      <Td from="xl">
        <code className="text-12 text-dim">{row.model}</code>
      </Td>
      <Td num from="sm">
        {tookMs === null ? "" : formatDuration(tookMs)}
      </Td>
      <Td num from="sm">
        {row.credits ? formatWhole(row.credits) : row.credits === null || isFinal(row.runStatus) ? "free" : ""}
      </Td>
      <Td num>
        <time dateTime={row.createdAt} title={row.createdAt}>
          {created}
        </time>
      </Td>
    </tr>
  );
});
