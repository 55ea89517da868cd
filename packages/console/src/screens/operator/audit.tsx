import type { EndpointEntry } from "@promptd/contract";
import { MANAGE_ENDPOINTS, type AuditEntry } from "@promptd/contract/manage";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { ScrollText, X } from "lucide-react";
import { formatTime, spell } from "../../components/format.ts";
import { ListPanel } from "../../components/list-panel.tsx";
import { Badge } from "../../components/ui/badge.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Empty } from "../../components/ui/empty.tsx";
import { Select } from "../../components/ui/field.tsx";
import { Table, Td } from "../../components/ui/table.tsx";
import type { AuditSearch } from "../../search.ts";
import { auditQuery } from "./queries.ts";
import { SearchBox } from "./search-box.tsx";

const NOTHING: AuditSearch = {
  q: undefined,
  action: undefined,
  outcome: undefined,
  accountId: undefined,
  personId: undefined,
};

export function AuditSection() {
  const search = useSearch({ from: "/inside/operator/audit" });
  const navigate = useNavigate({ from: "/operator/audit" });
  const { data } = useInfiniteQuery(auditQuery(search));
  const person = data?.pages[0]?.rows[0]?.email;
  const change = (next: AuditSearch) => void navigate({ search: (old) => ({ ...old, ...next }), replace: true });
  return (
    <>
      <SearchBox
        label="Action, person, or name"
        value={search.q ?? search.action}
        onSearch={(q) => change({ q, action: undefined })}
      >
        <Select
          aria-label="Entries to show"
          className="w-44"
          value={search.reads ?? ""}
          onChange={({ target }) => change({ reads: target.value === "with" ? "with" : undefined })}
        >
          <option value="">Changes</option>
          <option value="with">Changes and reads</option>
        </Select>
        <Select
          aria-label="Outcome"
          className="w-36"
          value={search.outcome ?? ""}
          onChange={({ target }) =>
            change({ outcome: (["success", "failure"] as const).find((one) => one === target.value) })
          }
        >
          <option value="">Any outcome</option>
          <option value="success">succeeded</option>
          <option value="failure">refused</option>
        </Select>
        {search.accountId === undefined && search.personId === undefined ? null : (
          <Button onClick={() => change({ accountId: undefined, personId: undefined })}>
            {search.personId === undefined ? "One account" : (person ?? "One person")}
            <X aria-label="Clear this filter" className="size-3.5" strokeWidth={1.75} />
          </Button>
        )}
      </SearchBox>
      <Entries search={search} onChange={change} />
    </>
  );
}

interface EntriesProps {
  readonly search: AuditSearch;
  readonly onChange: (next: AuditSearch) => void;
}

function Entries({ search, onChange }: EntriesProps) {
  const entries = useInfiniteQuery(auditQuery(search));
  const empty = (
    <Empty
      icon={ScrollText}
      title="No entries match"
      action={<Button onClick={() => onChange(NOTHING)}>Clear filters</Button>}
    >
      Sign-ins and every change by people, tokens, and operator commands are recorded here.
    </Empty>
  );
  return (
    <ListPanel list={entries} what="The audit log" shapes={8} empty={empty}>
      {(rows) => (
        <Table
          label="Audit log"
          columns={[
            "When",
            { label: "Action", fill: true },
            { label: "Who", from: "sm" },
            { label: "From", from: "xl" },
            { label: "Outcome", from: "sm" },
          ]}
        >
          {rows.map((row) => (
            <Row key={row.auditId} row={row} onPerson={(personId) => onChange({ personId })} />
          ))}
        </Table>
      )}
    </ListPanel>
  );
}

interface RowProps {
  readonly row: AuditEntry;
  readonly onPerson: (personId: string) => void;
}

function Row({ row, onPerson }: RowProps) {
  const { at, actor, email, personId, address, outcome, requestId } = row;
  const who = email ?? (actor === "terminal" ? "an operator’s terminal" : "unknown person");
  return (
    <tr className="hover:bg-hover">
      <Td>
        <time dateTime={at} title={at}>
          {formatTime(at)}
        </time>
      </Td>
      <Td fill whole>
        <Action row={row} />
        <span className="block truncate text-12 text-dim sm:hidden">{who}</span>
        {outcome === "SUCCESS" ? null : (
          <span className="block sm:hidden">
            <Outcome outcome={outcome} />
          </span>
        )}
      </Td>
      <Td from="sm">
        <span className="block max-w-64 truncate" title={who}>
          {personId === null ? (
            <span className="text-dim">{who}</span>
          ) : (
            <button type="button" className="max-w-full truncate hover:underline" onClick={() => onPerson(personId)}>
              {who}
            </button>
          )}
          {actor === "none" && personId !== null && outcome !== "SUCCESS" ? (
            <span className="pl-2 text-dim">not signed in</span>
          ) : null}
          {actor === "token" ? <span className="pl-2 text-dim">with a token</span> : null}
        </span>
      </Td>
      <Td from="xl">
        <code className="text-12 text-dim">{address}</code>
      </Td>
      <Td from="sm">
        <span title={requestId === null ? undefined : `Request ${requestId}`}>
          <Outcome outcome={outcome} />
        </span>
      </Td>
    </tr>
  );
}

/** What was done and to what. The tooltip shows the subject's ID. */
function Action({ row: { action, actor, personId, accountId, subject, subjectName } }: Pick<RowProps, "row">) {
  return (
    <span className="block lg:truncate">
      {actor === "terminal" ? <code className="text-12">promptd {action}</code> : spell(action)}
      {subject === null || subject === personId ? null : (
        <span className="text-dim max-sm:block max-sm:truncate sm:pl-2" title={subject}>
          <Subject action={action} accountId={accountId} subject={subject} subjectName={subjectName} />
        </span>
      )}
    </span>
  );
}

type SubjectProps = Pick<AuditEntry, "action" | "accountId" | "subjectName"> & { readonly subject: string };

/**
 * Links to the subject or its account, as long as it still has a name. Runs have no name here; their page says if
 * they no longer exist.
 */
function Subject({ action, accountId, subject, subjectName }: SubjectProps) {
  const text = subjectName ?? <code className="text-12">{subject}</code>;
  const entries: Readonly<Record<string, EndpointEntry>> = MANAGE_ENDPOINTS;
  const kind = entries[action]?.subject;
  const style = "underline decoration-edge underline-offset-3 hover:text-ink hover:decoration-current";
  if (kind === "runId") {
    return (
      <Link to="/operator/runs/$runId" params={{ runId: subject }} className={style}>
        {text}
      </Link>
    );
  }
  if (kind === "model") {
    return (
      <Link to="/operator/models" className={style}>
        {text}
      </Link>
    );
  }
  if (subjectName === null) return text;
  const account = kind === "accountId" ? subject : kind !== undefined && OF_ACCOUNTS.has(kind) ? accountId : null;
  if (account !== null) {
    return (
      <Link to="/operator/accounts/$accountId" params={{ accountId: account }} className={style}>
        {text}
      </Link>
    );
  }
  const page = kind === undefined ? undefined : LISTS[kind];
  if (page === undefined) return text;
  return (
    <Link to={page} search={{ q: subjectName }} className={style}>
      {text}
    </Link>
  );
}

/** Subjects without an operator page. The link leads to their account instead. */
const OF_ACCOUNTS: ReadonlySet<string> = new Set(["keyId", "tokenId", "webhookId"]);

/** Lists that find a subject by name. */
const LISTS: Readonly<Record<string, "/operator/people" | "/operator/prompts">> = {
  personId: "/operator/people",
  invitationId: "/operator/people",
  promptId: "/operator/prompts",
};

function Outcome({ outcome }: Pick<AuditEntry, "outcome">) {
  return outcome === "SUCCESS" ? <Badge tone="ok">done</Badge> : <Badge tone="warn">{outcomeWords(outcome)}</Badge>;
}

/** Error codes whose first words alone would say little. */
const OUTCOMES: Readonly<Record<string, string>> = {
  VALIDATION_ERROR: "invalid request",
  SERVER_ERROR: "server error",
};

/** Turns an error code such as `PAYMENT_REQUIRED_ERROR` into words. */
const outcomeWords = (code: string) =>
  OUTCOMES[code] ??
  code
    .replace(/_ERROR$/, "")
    .replaceAll("_", " ")
    .toLowerCase();
