import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useRouter, useSearch } from "@tanstack/react-router";
import { useState, type FormEvent } from "react";
import { Entry } from "../../components/shell/entry.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Failure } from "../../components/ui/empty.tsx";
import { Field, Input } from "../../components/ui/field.tsx";
import { signIn, textOf } from "../../sign-in.ts";

export function SignInScreen() {
  const { from } = useSearch({ from: "/sign-in" });
  const router = useRouter();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<string | null>(null);

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setBusy(true);
    const answer = await signIn(textOf(form, "email"), textOf(form, "password"));
    setBusy(false);
    setFault(answer.ok ? null : answer.message);
    if (!answer.ok) return;
    queries.clear();
    if (from?.startsWith("/") === true && !from.startsWith("//")) router.history.push(from);
    else await navigate({ to: "/" });
  };

  return (
    <Entry title="Sign in">
      <form className="grid gap-4" onSubmit={(event) => void submit(event)}>
        {fault === null ? null : <Failure title={fault} />}
        <Field label="E-mail">
          {(control) => <Input {...control} name="email" type="email" autoComplete="username" required autoFocus />}
        </Field>
        <Field label="Password">
          {(control) => <Input {...control} name="password" type="password" autoComplete="current-password" required />}
        </Field>
        <Button type="submit" tone="main" disabled={isBusy} className="justify-self-start">
          {isBusy ? "Signing in" : "Sign in"}
        </Button>
      </form>
      <p className="text-12 text-dim text-pretty">
        No password, or a forgotten one? An operator makes a sign-in link with{" "}
        <code>promptd admin sign-in-link --user YOUR-E-MAIL</code>.
      </p>
    </Entry>
  );
}
