import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { ActionForm } from "../../components/action-form.tsx";
import { SignedOutPage } from "../../components/shell/signed-out-page.tsx";
import { FaultNote } from "../../components/fault-note.tsx";
import { DonePage, INCOMPLETE_LINK, takeCode } from "../../components/shell/one-time-link.tsx";
import { PasswordField } from "../../components/shell/person-fields.tsx";
import { useAction } from "../../components/use-action.ts";
import { askAuth, textOf } from "../../sign-in.ts";

/** The page behind a password reset link, whose token is in the fragment. */
export function ResetPasswordScreen() {
  const [token] = useState(takeCode);
  const [isDone, setDone] = useState(false);
  const action = useAction();
  if (isDone) {
    const lead = "You were signed out everywhere. Sign in with the new password.";
    return <DonePage title="Password changed" lead={lead} to="/sign-in" label="Sign in" />;
  }
  return (
    <SignedOutPage title="Choose a new password">
      {token === "" ? (
        <FaultNote fault={INCOMPLETE_LINK} />
      ) : (
        <ActionForm
          action={action}
          submit="Change password"
          onSubmit={(form) =>
            action.run(async () => {
              await askAuth("reset-password", { token, newPassword: textOf(form, "password") });
              setDone(true);
            })
          }
        >
          <PasswordField kind="new" label="New password" autoFocus />
        </ActionForm>
      )}
      <p className="text-12 text-dim">
        The link works once and expires in one hour.{" "}
        <Link to="/forgot-password" className="text-accent underline underline-offset-2">
          Request another
        </Link>
        .
      </p>
    </SignedOutPage>
  );
}
