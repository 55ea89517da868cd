import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { manage, sessionQuery } from "../../../api.ts";
import { ActionForm } from "../../../components/action-form.tsx";
import { RowShapes } from "../../../components/query-states.tsx";
import { PasswordField } from "../../../components/shell/person-fields.tsx";
import { Field, Input } from "../../../components/ui/field.tsx";
import { Panel } from "../../../components/ui/panel.tsx";
import { useAction } from "../../../components/use-action.ts";
import { textOf } from "../../../sign-in.ts";
import { loginsQuery } from "../auth-queries.ts";

/** Sends a link to the new address. Until it is opened, the person signs in with the old one. */
export function EmailAddress() {
  const { data: session } = useQuery(sessionQuery);
  const { data: logins } = useQuery(loginsQuery);
  const action = useAction();
  const [requested, setRequested] = useState<string | null>(null);
  if (session === undefined || logins === undefined) {
    return <RowShapes what="the email address" title="Email address" rows={2} />;
  }
  const { person, features } = session;
  if (!features.mail) {
    return (
      <Panel title="Email address">
        <p className="text-dim">
          You sign in as {person.email}. This server does not send email, so ask an operator to change your address.
        </p>
      </Panel>
    );
  }
  const hasPassword = logins.some(({ providerId }) => providerId === "credential");
  const ask = (form: FormData) =>
    action.run(async () => {
      const body = { email: textOf(form, "email"), ...(hasPassword ? { password: textOf(form, "password") } : {}) };
      const { email } = await manage.send("requestEmailChange", { body });
      setRequested(email);
    });
  return (
    <Panel title="Email address">
      <div className="max-w-[400px]">
        {requested === null ? (
          <ActionForm action={action} submit="Send link" onSubmit={ask}>
            <Field
              label="New email"
              help={`You sign in as ${person.email} until you open the link sent to the new address.`}
            >
              {(control) => (
                <Input {...control} name="email" type="email" required maxLength={254} autoComplete="email" />
              )}
            </Field>
            {hasPassword ? <PasswordField kind="current" label="Your password" /> : null}
          </ActionForm>
        ) : (
          <p className="text-dim" role="status">
            An email is on its way to {requested}. Open its link within an hour. Until then, sign in as {person.email}.
          </p>
        )}
      </div>
    </Panel>
  );
}
