import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { manage, sessionQuery } from "../../../api.ts";
import { ActionForm } from "../../../components/action-form.tsx";
import { QueryFailure, RowShapes } from "../../../components/query-states.tsx";
import { PasswordField } from "../../../components/shell/person-fields.tsx";
import { Panel } from "../../../components/ui/panel.tsx";
import { toast } from "../../../components/ui/toast.tsx";
import { useAction } from "../../../components/use-action.ts";
import { askAuth, textOf } from "../../../sign-in.ts";
import { loginsQuery, sessionsQuery } from "../auth-queries.ts";

export function Password() {
  const logins = useQuery(loginsQuery);
  if (logins.isLoadingError) return <QueryFailure what="The ways to sign in" query={logins} />;
  if (logins.data === undefined) return <RowShapes what="the password" title="Password" rows={3} />;
  const hasPassword = logins.data.some(({ providerId }) => providerId === "credential");
  return <Panel title="Password">{hasPassword ? <ChangePassword /> : <FirstPassword />}</Panel>;
}

function ChangePassword() {
  const queries = useQueryClient();
  const action = useAction();
  /** Incremented after each change to reset the form. */
  const [changes, setChanges] = useState(0);
  const change = (form: FormData) =>
    action.run(async () => {
      const [currentPassword, newPassword] = [textOf(form, "current"), textOf(form, "new")];
      await askAuth("change-password", { currentPassword, newPassword, revokeOtherSessions: true });
      setChanges((count) => count + 1);
      toast("Password changed. You are signed out everywhere else");
      await queries.invalidateQueries({ queryKey: sessionsQuery.queryKey });
    });
  return (
    <div className="max-w-[400px]">
      <ActionForm key={changes} action={action} submit="Change password" onSubmit={change}>
        <PasswordField kind="current" name="current" label="Current password" />
        <PasswordField
          kind="new"
          name="new"
          label="New password"
          help="At least 12 characters. Changing it signs you out everywhere else."
        />
      </ActionForm>
    </div>
  );
}

/** People who came through a link or a sign-in service have no password. */
function FirstPassword() {
  const { data: session } = useQuery(sessionQuery);
  const queries = useQueryClient();
  const action = useAction();
  if (session === undefined) return null;
  const { personId, isOperator } = session.person;
  if (!isOperator) {
    return (
      <p className="text-dim">You have no password. To get one, ask an operator of this server for a sign-in link.</p>
    );
  }
  // Does what a sign-in link does, without opening its page.
  const set = (form: FormData) =>
    action.run(async () => {
      const { link } = await manage.send("createSignInLink", { params: { personId } });
      const code = new URL(link).hash.slice(1);
      await manage.send("welcome", { body: { code, password: textOf(form, "new") } });
      toast("Password set. You are signed out everywhere else");
      await queries.invalidateQueries({ queryKey: ["auth"] });
    });
  return (
    <div className="grid max-w-[400px] gap-3">
      <p className="text-dim text-pretty">You do not have a password yet. Set one to sign in without a link.</p>
      <ActionForm action={action} submit="Set password" onSubmit={set}>
        <PasswordField kind="new" name="new" label="New password" />
      </ActionForm>
    </div>
  );
}
