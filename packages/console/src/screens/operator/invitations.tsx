import type { Invitation } from "@promptd/contract/manage";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { manage } from "../../api.ts";
import { InvitationTable } from "../../components/invitations/invitation-table.tsx";
import { hasNothing, ListPanel } from "../../components/list-panel.tsx";
import { runWithToast } from "../../components/run-with-toast.ts";
import { personInvitationsQuery } from "./queries.ts";

interface OpenInvitationsProps {
  readonly q: string | undefined;
  /** Invites an address once more, whose earlier link ends by it. */
  readonly onRenew: (row: Invitation) => void;
}

/** Who was invited to the installation and has not come in yet; nothing while there is nobody. */
export function OpenInvitations({ q, onRenew }: OpenInvitationsProps) {
  const query = personInvitationsQuery(q);
  const invitations = useInfiniteQuery(query);
  const queries = useQueryClient();
  if ((invitations.data === undefined && !invitations.isError) || hasNothing(invitations)) return null;
  const revoke = async ({ invitationId }: Invitation) => {
    await runWithToast(() => manage.send("revokePersonInvitation", { params: { invitationId } }), "Invitation revoked");
    await queries.invalidateQueries({ queryKey: query.queryKey });
  };
  return (
    <ListPanel list={invitations} what="The invitations" title="Not accepted yet" note={null} empty={null}>
      {(rows) => <InvitationTable rows={rows} onRenew={onRenew} onRevoke={(row) => void revoke(row)} />}
    </ListPanel>
  );
}
