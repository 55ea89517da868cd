import type { Member, MemberRole } from "@promptd/contract/manage";
import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { chosenAccount } from "../../account.ts";
import { manage, sessionQuery } from "../../api.ts";
import { runWithToast } from "../../components/run-with-toast.ts";
import { formatDay, nameIn } from "../../components/format.ts";
import { FormDialog } from "../../components/form-dialog.tsx";
import { QueryFailure, RowShapes } from "../../components/query-states.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Select } from "../../components/ui/field.tsx";
import { Panel } from "../../components/ui/panel.tsx";
import { ACTIONS_COLUMN, Breakable, Table, Td } from "../../components/ui/table.tsx";
import { toast } from "../../components/ui/toast.tsx";
import { Invitations } from "./invitations.tsx";

const membersQuery = queryOptions({
  queryKey: ["members"],
  queryFn: ({ signal }) => manage.send("listMembers", { signal }),
});

export function MembersSection() {
  const members = useQuery(membersQuery);
  const { data: session } = useQuery(sessionQuery);
  if (members.isLoadingError) return <QueryFailure what="The members" query={members} />;
  if (members.data === undefined || session === undefined) {
    return <RowShapes what="members" title="Members" rows={3} />;
  }
  const account = session.accounts.find(({ accountId }) => accountId === chosenAccount());
  const isOwner = account?.role === "owner";
  return (
    <>
      <Members rows={members.data.rows} isOwner={isOwner} accountName={account?.name ?? "the account"} />
      {isOwner ? <Invitations /> : null}
    </>
  );
}

interface MembersProps {
  readonly rows: readonly Member[];
  readonly isOwner: boolean;
  readonly accountName: string;
}

function Members({ rows, isOwner, accountName }: MembersProps) {
  const queries = useQueryClient();
  const [removing, setRemoving] = useState<Member | null>(null);
  const refresh = () => queries.invalidateQueries({ queryKey: membersQuery.queryKey });
  const change = async ({ personId, name }: Member, role: MemberRole) => {
    const work = () => manage.send("updateMember", { params: { personId }, body: { role } });
    await runWithToast(work, `${nameIn(name)} is now ${role === "owner" ? "an owner" : "a member"}`);
    await refresh();
  };
  return (
    <Panel title="Members" aside={`of ${nameIn(accountName)}`} flush>
      <Table
        label="Members"
        columns={[{ label: "Person", fill: true }, "Role", { label: "Since", from: "sm" }, ACTIONS_COLUMN]}
      >
        {rows.map((row) => (
          <Row
            key={row.personId}
            row={row}
            isOwner={isOwner}
            onRole={(role) => void change(row, role)}
            onRemove={() => setRemoving(row)}
          />
        ))}
      </Table>
      <FormDialog
        isOpen={removing !== null}
        onClose={() => setRemoving(null)}
        title={`Remove ${nameIn(removing?.name ?? "")}?`}
        description="They lose access immediately. API keys they know still work until you revoke them."
        submit="Remove member"
        isDanger
        onSubmit={async () => {
          await manage.send("removeMember", { params: { personId: removing?.personId ?? "" } });
          toast("Member removed");
          await refresh();
        }}
      />
    </Panel>
  );
}

interface RowProps {
  readonly row: Member;
  readonly isOwner: boolean;
  readonly onRole: (role: MemberRole) => void;
  readonly onRemove: () => void;
}

function Row({ row: { name, email, role, since, isPersonal }, isOwner, onRole, onRemove }: RowProps) {
  const isChangeable = isOwner && !isPersonal;
  return (
    <tr>
      <Td fill whole>
        <span className="font-medium">{name}</span>{" "}
        <span className="text-dim max-lg:block">
          <Breakable text={email} />
        </span>
      </Td>
      <Td>
        {isChangeable ? (
          <Select
            aria-label={`Role of ${name}`}
            className="my-0.5 w-24 sm:w-28"
            value={role}
            onChange={({ target }) => onRole(target.value === "owner" ? "owner" : "member")}
          >
            <option value="member">Member</option>
            <option value="owner">Owner</option>
          </Select>
        ) : (
          role
        )}
      </Td>
      <Td from="sm">{formatDay(since)}</Td>
      <Td num>
        {isChangeable ? (
          <Button small tone="quiet" aria-label={`Remove ${name}`} onClick={onRemove}>
            Remove
          </Button>
        ) : null}
      </Td>
    </tr>
  );
}
