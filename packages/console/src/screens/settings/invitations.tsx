import { MEMBER_ROLES, type CreatedInvitation, type Invitation } from "@promptd/contract/manage";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { UserPlus } from "lucide-react";
import { useState } from "react";
import { growingList, manage } from "../../api.ts";
import { runWithToast } from "../../components/run-with-toast.ts";
import { formatDay } from "../../components/format.ts";
import { FormDialog } from "../../components/form-dialog.tsx";
import { OneTimeSecret } from "../../components/one-time-secret.tsx";
import { ListPanel } from "../../components/list-panel.tsx";
import { Badge } from "../../components/ui/badge.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Empty } from "../../components/ui/empty.tsx";
import { Field, Input, Select } from "../../components/ui/field.tsx";
import { ACTIONS_COLUMN, Breakable, Table, Td } from "../../components/ui/table.tsx";
import { toast } from "../../components/ui/toast.tsx";
import { textOf } from "../../sign-in.ts";

const invitationsQuery = growingList(
  ["invitations"],
  (query, signal) => manage.send("listInvitations", { query, signal }),
  ({ invitationId }) => invitationId,
);

export function Invitations() {
  const invitations = useInfiniteQuery(invitationsQuery);
  const queries = useQueryClient();
  const [isInviting, setInviting] = useState(false);
  const [created, setCreated] = useState<CreatedInvitation | null>(null);
  const refresh = () => queries.invalidateQueries({ queryKey: invitationsQuery.queryKey });
  const invite = async (form: FormData) => {
    const role = MEMBER_ROLES.find((one) => one === textOf(form, "role")) ?? "member";
    const invitation = await manage.send("createInvitation", { body: { email: textOf(form, "email"), role } });
    setCreated(invitation);
    if (invitation.link === null) toast(`An invitation is on its way to ${invitation.email}`);
    await refresh();
  };
  const revoke = async ({ invitationId }: Invitation) => {
    await runWithToast(() => manage.send("revokeInvitation", { params: { invitationId } }), "Invitation revoked");
    await refresh();
  };
  const button = (
    <Button small tone="main" onClick={() => setInviting(true)}>
      Invite
    </Button>
  );
  return (
    <>
      {created === null || created.link === null ? null : (
        <OneTimeSecret
          title={`The link for ${created.email}`}
          secret={created.link}
          copyLabel="Copy link"
          onDone={() => setCreated(null)}
        >
          <p className="text-dim">
            Anyone who opens it can accept the invitation. It works once and expires in seven days.
          </p>
        </OneTimeSecret>
      )}
      <ListPanel
        list={invitations}
        what="The invitations"
        title="Invitations"
        shapes={2}
        actions={button}
        note={null}
        empty={
          <Empty icon={UserPlus} title="No invitations" action={button}>
            Members share the account’s keys, credits and runs. Owners manage keys and members as well.
          </Empty>
        }
      >
        {(rows) => <InvitationTable rows={rows} onRevoke={(row) => void revoke(row)} />}
      </ListPanel>
      <Invite isOpen={isInviting} onClose={() => setInviting(false)} onSubmit={invite} />
    </>
  );
}

interface InviteProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onSubmit: (form: FormData) => Promise<void>;
}

function Invite({ isOpen, onClose, onSubmit }: InviteProps) {
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={onClose}
      title="Invite to the account"
      submit="Create link"
      onSubmit={onSubmit}
    >
      <Field label="Email">
        {(control) => <Input {...control} name="email" type="email" required maxLength={254} autoFocus />}
      </Field>
      <Field label="Role">
        {(control) => (
          <Select {...control} name="role" defaultValue="member">
            <option value="member">Member: uses runs and credits</option>
            <option value="owner">Owner: also manages keys and members</option>
          </Select>
        )}
      </Field>
    </FormDialog>
  );
}

const TONES = { open: "live", accepted: "ok", revoked: "neutral", expired: "warn" } as const;

function stateOf({ acceptedAt, revokedAt, expiresAt }: Invitation): keyof typeof TONES {
  if (acceptedAt !== null) return "accepted";
  if (revokedAt !== null) return "revoked";
  return Date.parse(expiresAt) <= Date.now() ? "expired" : "open";
}

interface InvitationTableProps {
  readonly rows: readonly Invitation[];
  readonly onRevoke: (row: Invitation) => void;
}

function InvitationTable({ rows, onRevoke }: InvitationTableProps) {
  return (
    <Table
      label="Invitations"
      columns={[{ label: "Email", fill: true }, { label: "Role", from: "sm" }, "State", ACTIONS_COLUMN]}
    >
      {rows.map((row) => {
        const state = stateOf(row);
        return (
          <tr key={row.invitationId}>
            <Td fill whole>
              <Breakable text={row.email} />
            </Td>
            <Td from="sm">{row.role}</Td>
            <Td>
              <Badge tone={TONES[state]}>
                {state}
                {state === "open" ? (
                  <span className="whitespace-pre max-sm:hidden"> until {formatDay(row.expiresAt)}</span>
                ) : null}
              </Badge>
            </Td>
            <Td num>
              {state === "open" ? (
                <Button
                  small
                  tone="quiet"
                  aria-label={`Revoke the invitation of ${row.email}`}
                  onClick={() => onRevoke(row)}
                >
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
