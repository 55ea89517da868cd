import type { Passkey } from "@promptd/contract/manage";
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { manage, sessionQuery } from "../../../api.ts";
import { formatDay, formatTime, nameIn } from "../../../components/format.ts";
import { FormDialog } from "../../../components/form-dialog.tsx";
import { QueryFailure, RowShapes } from "../../../components/query-states.tsx";
import { PasswordField } from "../../../components/shell/person-fields.tsx";
import { Badge } from "../../../components/ui/badge.tsx";
import { Button } from "../../../components/ui/button.tsx";
import { Field, Input } from "../../../components/ui/field.tsx";
import { Panel } from "../../../components/ui/panel.tsx";
import { ACTIONS_COLUMN, Table, Td } from "../../../components/ui/table.tsx";
import { toast } from "../../../components/ui/toast.tsx";
import { addPasskey, canUsePasskeys } from "../../../passkeys.ts";
import { textOf } from "../../../sign-in.ts";
import { loginsQuery } from "../auth-queries.ts";
import { browserOf } from "../browser-of.ts";

const passkeysQuery = queryOptions({
  queryKey: ["passkeys"],
  queryFn: ({ signal }) => manage.send("listPasskeys", { signal }),
});

/** Keys in devices and password managers. Each one alone signs the person in. */
export function Passkeys() {
  const passkeys = useQuery(passkeysQuery);
  const { data: session } = useQuery(sessionQuery);
  const logins = useQuery(loginsQuery);
  const queries = useQueryClient();
  const [isAdding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<Passkey | null>(null);
  if (passkeys.isLoadingError) return <QueryFailure what="The passkeys" query={passkeys} />;
  if (logins.isLoadingError) return <QueryFailure what="Your ways to sign in" query={logins} />;
  if (passkeys.data === undefined || session === undefined || logins.data === undefined) {
    return <RowShapes what="the passkeys" title="Passkeys" rows={2} />;
  }
  const { rows } = passkeys.data;
  const hasPassword = logins.data.some(({ providerId }) => providerId === "credential");
  const isPossible = session.features.passkeys && canUsePasskeys();
  const refresh = () => queries.invalidateQueries({ queryKey: passkeysQuery.queryKey });
  return (
    <Panel
      title="Passkeys"
      flush={rows.length > 0}
      actions={
        isPossible ? (
          <Button small onClick={() => setAdding(true)}>
            Add passkey
          </Button>
        ) : null
      }
    >
      {rows.length === 0 ? (
        <p className="max-w-[72ch] text-dim">
          {isPossible
            ? "A passkey on your device or in your password manager signs you in with your fingerprint, face, or PIN, without a password or code."
            : unavailable(session.features.passkeys)}
        </p>
      ) : (
        <PasskeyTable rows={rows} onRemove={setRemoving} />
      )}
      <AddPasskey isOpen={isAdding} hasPassword={hasPassword} onClose={() => setAdding(false)} onDone={refresh} />
      <RemovePasskey
        passkey={removing}
        isOnlyWayIn={rows.length === 1 && logins.data.length === 0}
        onClose={() => setRemoving(null)}
        onDone={refresh}
      />
    </Panel>
  );
}

interface DialogProps {
  readonly onClose: () => void;
  readonly onDone: () => Promise<unknown>;
}

interface AddPasskeyProps extends DialogProps {
  readonly isOpen: boolean;
  readonly hasPassword: boolean;
}

function AddPasskey({ isOpen, hasPassword, onClose, onDone }: AddPasskeyProps) {
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={onClose}
      title="Add a passkey"
      description="Next, your browser asks where to store it."
      submit="Continue"
      onSubmit={async (form) => {
        await addPasskey(textOf(form, "name").trim(), hasPassword ? textOf(form, "password") : null);
        toast("Passkey added");
        await onDone();
      }}
    >
      <Field label="Name" help="Helps you recognize it in this list.">
        {(control) => (
          <Input
            {...control}
            name="name"
            required
            maxLength={100}
            defaultValue={browserOf(navigator.userAgent)}
            autoFocus
          />
        )}
      </Field>
      {hasPassword ? <PasswordField kind="current" label="Your password" /> : null}
    </FormDialog>
  );
}

interface RemovePasskeyProps extends DialogProps {
  readonly passkey: Passkey | null;
  readonly isOnlyWayIn: boolean;
}

function RemovePasskey({ passkey, isOnlyWayIn, onClose, onDone }: RemovePasskeyProps) {
  return (
    <FormDialog
      isOpen={passkey !== null}
      onClose={onClose}
      title={`Remove “${nameIn(passkey?.name ?? "")}”?`}
      description={
        isOnlyWayIn
          ? "You have no other way to sign in. Set a password first, or you will need a link from an operator."
          : "You will no longer be able to sign in with it. Also delete it from your device or password manager."
      }
      submit="Remove passkey"
      isDanger
      onSubmit={async () => {
        await manage.send("removePasskey", { params: { passkeyId: passkey?.passkeyId ?? "" } });
        toast("Passkey removed");
        await onDone();
      }}
    />
  );
}

/** Says why there is no button: because of the server's address, the page's address, or the browser. */
function unavailable(isServerReady: boolean): string {
  if (!isServerReady) {
    return "Passkeys need HTTPS and a domain name in PROMPTD_PUBLIC_URL. Ask an operator of this server.";
  }
  if (location.hostname === "127.0.0.1") {
    return `Passkeys do not work at 127.0.0.1. Open http://localhost:${location.port} instead.`;
  }
  return "This browser is too old for passkeys.";
}

interface PasskeyTableProps {
  readonly rows: readonly Passkey[];
  readonly onRemove: (passkey: Passkey) => void;
}

function PasskeyTable({ rows, onRemove }: PasskeyTableProps) {
  return (
    <Table
      label="Passkeys"
      columns={[
        { label: "Name", fill: true },
        { label: "Added", from: "sm" },
        { label: "Last used", from: "sm" },
        ACTIONS_COLUMN,
      ]}
    >
      {rows.map((row) => (
        <tr key={row.passkeyId} className="hover:bg-hover">
          <Td fill>
            <span className="font-medium" title={row.name}>
              {row.name}
            </span>{" "}
            {row.isBackedUp ? <Badge>synced</Badge> : null}
          </Td>
          <Td from="sm">{formatDay(row.createdAt)}</Td>
          <Td from="sm">
            {row.lastUsedAt === null ? <span className="text-dim">never</span> : formatTime(row.lastUsedAt)}
          </Td>
          <Td num>
            <Button small tone="quiet" aria-label={`Remove ${row.name}`} onClick={() => onRemove(row)}>
              Remove
            </Button>
          </Td>
        </tr>
      ))}
    </Table>
  );
}
