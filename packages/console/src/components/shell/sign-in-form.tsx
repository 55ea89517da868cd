import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ActionForm } from "../action-form.tsx";
import { Field, Input } from "../ui/field.tsx";
import { useAction } from "../use-action.ts";
import { EmailField, PasswordField } from "./person-fields.tsx";
import { confirmSignIn, signIn, textOf } from "../../sign-in.ts";

interface SignInFormProps {
  /** If known, it cannot be changed. */
  readonly email?: string | undefined;
  readonly onDone: () => void;
}

/** Asks for email and password, then for a code if the person has a second factor. */
export function SignInForm({ email, onDone }: SignInFormProps) {
  const queries = useQueryClient();
  const action = useAction();
  const [asksCode, setAsksCode] = useState(false);
  const goOn = () => {
    queries.clear();
    onDone();
  };
  const sendPassword = (form: FormData) =>
    action.run(async () => {
      const answer = await signIn(email ?? textOf(form, "email"), textOf(form, "password"));
      if (answer === "second_factor") setAsksCode(true);
      else goOn();
    });
  const sendCode = (form: FormData) =>
    action.run(async () => {
      await confirmSignIn(textOf(form, "code").trim());
      goOn();
    });
  if (asksCode) {
    return (
      <ActionForm key="code" action={action} submit="Confirm" onSubmit={sendCode}>
        <Field label="Code" help="From your authenticator app, or one of your backup codes.">
          {(control) => (
            <Input
              {...control}
              name="code"
              autoComplete="one-time-code"
              autoCapitalize="off"
              spellCheck={false}
              maxLength={20}
              required
              autoFocus
            />
          )}
        </Field>
      </ActionForm>
    );
  }
  return (
    <ActionForm key="password" action={action} submit="Sign in" onSubmit={sendPassword}>
      <EmailField known={email ?? null} />
      <PasswordField kind="current" autoFocus={email !== undefined} />
    </ActionForm>
  );
}
