import { useQuery, useQueryClient } from "@tanstack/react-query";
import { sessionQuery } from "../../../api.ts";
import { ActionForm } from "../../../components/action-form.tsx";
import { QueryFailure, RowShapes } from "../../../components/query-states.tsx";
import { Badge } from "../../../components/ui/badge.tsx";
import { Field, Input } from "../../../components/ui/field.tsx";
import { Panel } from "../../../components/ui/panel.tsx";
import { Table, Td } from "../../../components/ui/table.tsx";
import { toast } from "../../../components/ui/toast.tsx";
import { useAction } from "../../../components/use-action.ts";
import { askAuth, textOf } from "../../../sign-in.ts";
import { EmailAddress } from "./email-address.tsx";

export function ProfileSection() {
  const session = useQuery(sessionQuery);
  const queries = useQueryClient();
  const action = useAction();
  if (session.isLoadingError) return <QueryFailure what="The profile" query={session} />;
  if (session.data === undefined) return <RowShapes what="the profile" title="Profile" rows={3} />;
  const { person, accounts } = session.data;
  const save = (form: FormData) =>
    action.run(async () => {
      await askAuth("update-user", { name: textOf(form, "name") });
      await queries.invalidateQueries({ queryKey: sessionQuery.queryKey });
      toast("Profile saved");
    });
  return (
    <>
      <Panel title="Profile">
        <div className="max-w-[400px]">
          <ActionForm action={action} submit="Save" onSubmit={save}>
            <Field label="Name" help="Members of your accounts see it.">
              {(control) => (
                <Input
                  {...control}
                  name="name"
                  defaultValue={person.name}
                  maxLength={100}
                  required
                  autoComplete="name"
                />
              )}
            </Field>
          </ActionForm>
        </div>
      </Panel>
      <EmailAddress />
      <Panel title="Accounts" aside="keys, credits and runs belong to an account" flush>
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
