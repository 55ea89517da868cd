import { MEMBER_ROLES, type CreatedInvitation, type Invitation, type NewInvitation } from "@promptd/contract/manage";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { UserPlus } from "lucide-react";
import { useState } from "react";
import { growingList, manage } from "../../api.ts";
import { runWithToast } from "../../components/run-with-toast.ts";
import { FormDialog } from "../../components/form-dialog.tsx";
import { InvitationTable } from "../../components/invitations/invitation-table.tsx";
import { OneTimeSecret } from "../../components/one-time-secret.tsx";
import { ListPanel } from "../../components/list-panel.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Empty } from "../../components/ui/empty.tsx";
import { Field, Input, Select } from "../../components/ui/field.tsx";
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
  const invite = async (body: NewInvitation) => {
    const invitation = await manage.send("createInvitation", { body });
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
          title={`Invitation link for ${created.email}`}
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
            Members share the account’s keys, credits, and runs. Owners also manage keys and members.
          </Empty>
        }
      >
        {(rows) => (
          <InvitationTable
            rows={rows}
            hasRoles
            onRenew={({ email, role }) =>
              void runWithToast(() => invite({ email, role }), "The earlier link no longer works")
            }
            onRevoke={(row) => void revoke(row)}
          />
        )}
      </ListPanel>
      <Invite isOpen={isInviting} onClose={() => setInviting(false)} onSubmit={invite} />
    </>
  );
}

interface InviteProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onSubmit: (invitation: NewInvitation) => Promise<void>;
}

const roleIn = (form: FormData) => MEMBER_ROLES.find((one) => one === textOf(form, "role")) ?? "member";

function Invite({ isOpen, onClose, onSubmit }: InviteProps) {
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={onClose}
      title="Invite to the account"
      submit="Invite"
      onSubmit={(form) => onSubmit({ email: textOf(form, "email"), role: roleIn(form) })}
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
