import { useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { Button } from "../ui/button.tsx";
import { Failure } from "../ui/empty.tsx";
import { Field, Input } from "../ui/field.tsx";
import { signIn, textOf } from "../../sign-in.ts";

interface SignInFormProps {
  /** Known already: it cannot be changed then. */
  readonly email?: string | undefined;
  readonly onDone: () => void;
}

export function SignInForm({ email, onDone }: SignInFormProps) {
  const queries = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setBusy(true);
    const answer = await signIn(email ?? textOf(form, "email"), textOf(form, "password"));
    setBusy(false);
    setFault(answer.ok ? null : answer.message);
    if (!answer.ok) return;
    queries.clear();
    onDone();
  };
  return (
    <form className="grid gap-4" onSubmit={(event) => void submit(event)}>
      {fault === null ? null : <Failure title={fault} />}
      <Field label="E-mail">
        {(control) => (
          <Input
            {...control}
            name="email"
            type="email"
            autoComplete="username"
            required
            defaultValue={email ?? ""}
            disabled={email !== undefined}
            autoFocus={email === undefined}
          />
        )}
      </Field>
      <Field label="Password">
        {(control) => (
          <Input
            {...control}
            name="password"
            type="password"
            autoComplete="current-password"
            required
            autoFocus={email !== undefined}
          />
        )}
      </Field>
      <Button type="submit" tone="main" disabled={isBusy} className="justify-self-start">
        {isBusy ? "Signing in" : "Sign in"}
      </Button>
    </form>
  );
}
