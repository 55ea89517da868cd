import { SCOPES } from "@promptd/contract";
import type { CreatedToken, Token } from "@promptd/contract/manage";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { KeySquare } from "lucide-react";
import { useState } from "react";
import { growingList, manage, sessionQuery } from "../../api.ts";
import { formatDay, formatTime, nameIn } from "../../components/format.ts";
import { FormDialog } from "../../components/form-dialog.tsx";
import { OneTimeSecret } from "../../components/one-time-secret.tsx";
import { ListPanel } from "../../components/list-panel.tsx";
import { ScopeFields, scopesOf } from "../../components/ui/scope-fields.tsx";
import { Badge } from "../../components/ui/badge.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Empty } from "../../components/ui/empty.tsx";
import { DaysField, Field, Input } from "../../components/ui/field.tsx";
import { ACTIONS_COLUMN, Table, Td } from "../../components/ui/table.tsx";
import { toast } from "../../components/ui/toast.tsx";
import { textOf } from "../../sign-in.ts";

const tokensQuery = growingList(
  ["tokens"],
  (query, signal) => manage.send("listTokens", { query, signal }),
  ({ tokenId }) => tokenId,
);

export function TokensSection() {
  const tokens = useInfiniteQuery(tokensQuery);
  const queries = useQueryClient();
  const [isCreating, setCreating] = useState(false);
  const [created, setCreated] = useState<CreatedToken | null>(null);
  const [revoking, setRevoking] = useState<Token | null>(null);
  const refresh = () => queries.invalidateQueries({ queryKey: tokensQuery.queryKey });
  const create = (
    <Button small tone="main" onClick={() => setCreating(true)}>
      Create token
    </Button>
  );
  return (
    <>
      {created === null ? null : (
        <OneTimeSecret
          title={`“${nameIn(created.name)}” is ready`}
          secret={created.token}
          copyLabel="Copy token"
          onDone={() => setCreated(null)}
        />
      )}
      <ListPanel
        list={tokens}
        what="The tokens"
        title="Management tokens"
        shapes={3}
        actions={create}
        empty={
          <Empty icon={KeySquare} title="No tokens yet" action={create}>
            A token lets a script or CI publish prompts, read runs, and manage keys. To run prompts, create an API key.
          </Empty>
        }
      >
        {(rows) => <TokenTable rows={rows} onRevoke={setRevoking} />}
      </ListPanel>
      <CreateToken
        isOpen={isCreating}
        onClose={() => setCreating(false)}
        onCreated={(token) => {
          setCreated(token);
          void refresh();
        }}
      />
      <FormDialog
        isOpen={revoking !== null}
        onClose={() => setRevoking(null)}
        title={`Revoke “${nameIn(revoking?.name ?? "")}”?`}
        description="Requests with this token will immediately fail with 401. This can’t be undone."
        submit="Revoke token"
        isDanger
        onSubmit={async () => {
          await manage.send("revokeToken", { params: { tokenId: revoking?.tokenId ?? "" } });
          toast("Token revoked");
          await refresh();
        }}
      />
    </>
  );
}

interface TokenTableProps {
  readonly rows: readonly Token[];
  readonly onRevoke: (token: Token) => void;
}

function TokenTable({ rows, onRevoke }: TokenTableProps) {
  return (
    <Table
      label="Management tokens"
      columns={[
        { label: "Name", fill: true },
        { label: "Token", from: "xl" },
        { label: "Permissions", from: "sm" },
        "State",
        { label: "Last used", from: "sm" },
        ACTIONS_COLUMN,
      ]}
    >
      {rows.map((row) => {
        const state = stateOf(row);
        return (
          <tr key={row.tokenId} className="hover:bg-hover">
            <Td fill>
              <span className="font-medium" title={row.name}>
                {row.name}
              </span>
            </Td>
            <Td from="xl">
              <code className="text-12 text-dim">{row.display}</code>
            </Td>
            <Td from="sm">
              <span title={row.scopes.join(", ")}>
                {row.scopes.length === 1 ? row.scopes[0] : `${row.scopes.length} scopes`}
              </span>
            </Td>
            <Td>
              <Badge tone={TONES[state]}>{state === "valid" ? `until ${formatDay(row.expiresAt)}` : state}</Badge>
            </Td>
            <Td from="sm">
              {row.lastUsedAt === null ? <span className="text-dim">never</span> : formatTime(row.lastUsedAt)}
            </Td>
            <Td num>
              {state === "valid" ? (
                <Button small tone="quiet" aria-label={`Revoke ${row.name}`} onClick={() => onRevoke(row)}>
                  Revoke
                </Button>
              ) : null}
            </Td>
          </tr>
        );
      })}
    </Table>
  );
}

const TONES = { valid: "ok", expired: "warn", revoked: "neutral" } as const;

function stateOf({ revokedAt, expiresAt }: Token): keyof typeof TONES {
  if (revokedAt !== null) return "revoked";
  return Date.parse(expiresAt) <= Date.now() ? "expired" : "valid";
}

interface CreateTokenProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onCreated: (token: CreatedToken) => void;
}

function CreateToken({ isOpen, onClose, onCreated }: CreateTokenProps) {
  const { data: session } = useQuery(sessionQuery);
  const offered = SCOPES.filter((scope) => scope !== "operator" || session?.person.isOperator === true);
  const create = async (form: FormData) => {
    const body = { name: textOf(form, "name"), scopes: scopesOf(form), expiresInDays: Number(textOf(form, "days")) };
    onCreated(await manage.send("createToken", { body }));
  };
  return (
    <FormDialog isOpen={isOpen} onClose={onClose} title="Create token" submit="Create token" onSubmit={create}>
      <Field label="Name" help="Where it will be used, such as publish from CI.">
        {(control) => <Input {...control} name="name" required maxLength={100} autoFocus />}
      </Field>
      <ScopeFields legend="Permissions" offered={offered} />
      <DaysField label="Expires" choices={[7, 30, 90, 365]} defaultDays={90} />
    </FormDialog>
  );
}
