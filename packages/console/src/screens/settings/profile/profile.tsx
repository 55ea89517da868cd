import { useQuery, useQueryClient } from "@tanstack/react-query";
import { sessionQuery } from "../../../api.ts";
import { QueryFailure, RowShapes } from "../../../components/query-states.tsx";
import { Badge } from "../../../components/ui/badge.tsx";
import { Panel } from "../../../components/ui/panel.tsx";
import { Table, Td } from "../../../components/ui/table.tsx";
import { askAuth } from "../../../sign-in.ts";
import { NameForm } from "../name-form.tsx";
import { EmailAddress } from "./email-address.tsx";

export function ProfileSection() {
  const session = useQuery(sessionQuery);
  const queries = useQueryClient();
  if (session.isLoadingError) return <QueryFailure what="The profile" query={session} />;
  if (session.data === undefined) return <RowShapes what="the profile" title="Profile" rows={3} />;
  const { person, accounts } = session.data;
  const save = async (name: string) => {
    await askAuth("update-user", { name });
    await queries.invalidateQueries({ queryKey: sessionQuery.queryKey });
  };
  return (
    <>
      <NameForm
        title="Profile"
        label="Name"
        help="Visible to members of your accounts."
        name={person.name}
        autoComplete="name"
        onSave={save}
      />
      <EmailAddress />
      <Panel title="Accounts" aside="keys, credits, and runs belong to an account" flush>
        <Table label="Accounts" columns={[{ label: "Account", fill: true }, "Your role", "Plan"]}>
          {accounts.map(({ accountId, name, role, isPersonal, hasPlan }) => (
            <tr key={accountId}>
              <Td fill>
                {name}
                {isPersonal ? <span className="pl-2 text-dim">your own</span> : null}
              </Td>
              <Td>{role}</Td>
              <Td>
                <Badge tone={hasPlan ? "ok" : "neutral"}>{hasPlan ? "pro" : "none"}</Badge>
              </Td>
            </tr>
          ))}
        </Table>
      </Panel>
    </>
  );
}
