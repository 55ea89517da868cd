import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { ActForm } from "../../components/act-form.tsx";
import { Entry } from "../../components/shell/entry.tsx";
import { takeCode } from "../../components/shell/one-time-link.tsx";
import { PasswordField } from "../../components/shell/person-fields.tsx";
import { buttonClass } from "../../components/ui/button.tsx";
import { useAct } from "../../components/use-act.ts";
import { askAuth, textOf } from "../../sign-in.ts";

/** Behind the link of a reset, whose token is in the fragment. */
export function ResetPasswordScreen() {
  const [token] = useState(takeCode);
  const [isDone, setDone] = useState(false);
  const act = useAct();
  if (isDone) {
    return (
      <Entry title="Password changed" lead="All your sessions have ended. Sign in with the new password.">
        <Link to="/sign-in" search={{}} className={`${buttonClass({ tone: "main" })} justify-self-start`}>
          Sign in
        </Link>
      </Entry>
    );
  }
  return (
    <Entry title="Choose a new password">
      <ActForm
        act={act}
        submit="Change password"
        onSubmit={(form) =>
          act.run(async () => {
            await askAuth("reset-password", { token, newPassword: textOf(form, "password") });
            setDone(true);
          })
        }
      >
        <PasswordField kind="new" label="New password" autoFocus />
      </ActForm>
      <p className="text-12 text-dim">
        The link works once, within an hour.{" "}
        <Link to="/forgot-password" className="text-accent underline underline-offset-2">
          Ask for another
        </Link>
        .
      </p>
    </Entry>
  );
}
