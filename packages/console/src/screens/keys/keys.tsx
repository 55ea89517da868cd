import type { CreatedKey, Key } from "@promptd/contract/manage";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { KeyRound } from "lucide-react";
import { useState } from "react";
import { KEYS, keysQuery } from "../../api.ts";
import { ListPanel } from "../../components/list-panel.tsx";
import { formatDay, formatWhole } from "../../components/format.ts";
import { Page } from "../../components/shell/page.tsx";
import { Badge } from "../../components/ui/badge.tsx";
import { Button, buttonClass } from "../../components/ui/button.tsx";
import { cx } from "../../components/ui/class-names.ts";
import { Empty } from "../../components/ui/empty.tsx";
import { ACTIONS_COLUMN, NAME_OF_ROW, Table, Td } from "../../components/ui/table.tsx";
import { CreateKey } from "./create-key.tsx";
import { isUnused, KeyActions, lastUseOf, originOf } from "./key-actions.tsx";
import { NewKey } from "./new-key.tsx";
import { runsOfKeysQuery, Sparkline } from "./sparkline.tsx";

export function KeysScreen() {
  const { new: isCreating } = useSearch({ from: "/inside/keys" });
  const navigate = useNavigate({ from: "/keys" });
  const setCreating = (next: boolean) =>
    void navigate({
      search: (old) => ({ ...old, new: next ? 1 : undefined }),
      replace: true,
      resetScroll: false,
    });
  const [created, setCreated] = useState<CreatedKey | null>(null);
  const queries = useQueryClient();
  const show = (key: CreatedKey) => {
    setCreating(false);
    setCreated(key);
    void queries.invalidateQueries({ queryKey: KEYS });
  };
  return (
    <Page
      title="Keys"
      actions={
        <Button tone="main" onClick={() => setCreating(true)}>
          Create key
        </Button>
      }
    >
      {created === null ? null : <NewKey created={created} onDone={() => setCreated(null)} />}
      <KeyList onCreate={() => setCreating(true)} onRolled={show} />
      <CreateKey isOpen={isCreating !== undefined} onClose={() => setCreating(false)} onCreated={show} />
    </Page>
  );
}

interface KeyListProps {
  readonly onCreate: () => void;
  readonly onRolled: (key: CreatedKey) => void;
}

function KeyList({ onCreate, onRolled }: KeyListProps) {
  const { revoked = "without" } = useSearch({ from: "/inside/keys" });
  const keys = useInfiniteQuery(keysQuery(revoked));
  const { data: use } = useQuery(runsOfKeysQuery);
  const all = useInfiniteQuery(keysQuery("with"));
  const hasRevoked =
    all.hasNextPage || all.data?.pages.some(({ rows }) => rows.some(({ state }) => state === "revoked")) === true;
  const others = hasRevoked ? <OtherKeys revoked={revoked} /> : null;
  const empty = (
    <Empty
      icon={KeyRound}
      title="No keys yet"
      action={
        <>
          <Button onClick={onCreate}>Create key</Button>
          {others}
        </>
      }
    >
      A key lets your code run prompts and pay with your credits.
    </Empty>
  );
  return (
    <ListPanel
      list={keys}
      what="The keys"
      shapes={4}
      empty={empty}
      note={(rows) => (
        <>
          {formatWhole(rows)} shown, newest first {others}
        </>
      )}
    >
      {(rows) => (
        <Table
          label="Keys"
          columns={[
            { label: "Name", fill: true },
            { label: "Key", from: "sm" },
            "State",
            { label: "Last used", from: "sm" },
            { label: "From", from: "xl" },
            { label: "Runs, 30 days", num: true, from: "xl" },
            { label: "Credits this month", num: true, from: "sm" },
            ACTIONS_COLUMN,
          ]}
        >
          {rows.map((row) => (
            <KeyRow key={row.keyId} row={row} days={use?.get(row.keyId)} onRolled={onRolled} />
          ))}
        </Table>
      )}
    </ListPanel>
  );
}

/** Revoked keys would soon fill the list. */
function OtherKeys({ revoked }: { readonly revoked: "with" | "without" }) {
  return (
    <Link
      to="/keys"
      search={(old) => ({ ...old, revoked: revoked === "with" ? undefined : "with" })}
      replace
      resetScroll={false}
      className={buttonClass({ tone: "quiet", small: true })}
    >
      {revoked === "with" ? "Hide revoked keys" : "Show revoked keys"}
    </Link>
  );
}

/** On a phone, in place of the columns. */
const useOf = (key: Key) => (isUnused(key) ? "never used" : `used ${lastUseOf(key)}${originOf(key)}`);

const TONES = { valid: "ok", expired: "warn", revoked: "neutral" } as const;

interface KeyRowProps extends Pick<KeyListProps, "onRolled"> {
  readonly row: Key;
  /** Its runs by day. Undefined if there are none or they are not known. */
  readonly days: readonly number[] | undefined;
}

function KeyRow({ row, days, onRolled }: KeyRowProps) {
  const { name, display, state, expiresAt, monthlyCap, promptIds, usedThisMonth, last30Days } = row;
  return (
    <tr className="hover:bg-hover">
      <Td fill whole>
        <span className={cx("max-lg:line-clamp-2", promptIds === null ? "font-medium" : NAME_OF_ROW)} title={name}>
          {name}
        </span>
        <span className="block text-12 text-dim sm:hidden">{useOf(row)}</span>
        {promptIds === null ? null : (
          <span className="text-12 text-dim max-lg:block lg:pl-2">
            {promptIds.length === 1 ? "1 prompt only" : `${promptIds.length} prompts only`}
          </span>
        )}
      </Td>
      <Td from="sm">
        <code className="text-12 text-dim">{display}</code>
      </Td>
      <Td>
        <Badge tone={TONES[state]}>
          {state === "valid" && expiresAt !== null ? `until ${formatDay(expiresAt)}` : state}
        </Badge>
      </Td>
      <Td from="sm">{isUnused(row) ? <span className="text-dim">never</span> : lastUseOf(row)}</Td>
      <Td from="xl">
        <code className="text-12 text-dim">{row.lastUsedFrom}</code>
      </Td>
      <Td num from="xl">
        <Link to="/runs" search={{ keyId: row.keyId }} className="hover:underline" title={`Runs of ${name}`}>
          {days === undefined ? null : <Sparkline days={days} />}
          <span className="inline-block min-w-12">{formatWhole(last30Days.runs)}</span>
        </Link>
      </Td>
      <Td num from="sm">
        {formatWhole(usedThisMonth)}
        {monthlyCap === null ? "" : ` of ${formatWhole(monthlyCap)}`}
      </Td>
      <Td>{state === "valid" ? <KeyActions row={row} onRolled={onRolled} /> : null}</Td>
    </tr>
  );
}
