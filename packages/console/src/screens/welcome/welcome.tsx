import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState, type FormEvent } from "react";
import { chooseAccount } from "../../account.ts";
import { faultOf, manage, type Fault } from "../../api.ts";
import { Entry } from "../../components/shell/entry.tsx";
import { Button, buttonClass } from "../../components/ui/button.tsx";
import { Failure } from "../../components/ui/empty.tsx";
import { Field, Input } from "../../components/ui/field.tsx";
import { Loading, Skeleton } from "../../components/ui/skeleton.tsx";
import { textOf } from "../../sign-in.ts";

type Stage =
  | { readonly kind: "checking" }
  | { readonly kind: "set_up"; readonly email: string | null }
  | { readonly kind: "failed"; readonly fault: Fault };

/** A one-time link: signs in at once on the server's own machine, asks for e-mail and password first elsewhere. */
export function WelcomeScreen() {
  const [code] = useState(takeCode);
  const [stage, setStage] = useState<Stage>({ kind: "checking" });
  const isSent = useRef(false);
  const enter = useEnter();

  useEffect(() => {
    if (isSent.current) return; // a code works once, and React's strict mode runs effects twice
    isSent.current = true;
    manage
      .send("welcome", { body: { code } })
      .then((answer) => (answer.kind === "signed_in" ? enter() : setStage(answer)))
      .catch((error: unknown) => setStage({ kind: "failed", fault: faultOf(error) }));
  }, [code, enter]);

  if (stage.kind === "failed") return <BrokenLink fault={stage.fault} />;
  if (stage.kind === "set_up") return <SetUp code={code} email={stage.email} onDone={enter} />;
  return (
    <Entry title="Welcome">
      <Loading what="your account">
        <div className="grid gap-3">
          <Skeleton className="h-3 w-2/3" />
          <Skeleton className="h-8" />
          <Skeleton className="h-8" />
        </div>
      </Loading>
    </Entry>
  );
}

/** The fragment never reaches a server's log; it is taken out of the address so that no history shows it either. */
function takeCode(): string {
  const code = location.hash.slice(1);
  if (code !== "") history.replaceState(history.state, "", location.pathname);
  return code;
}

function useEnter(): () => void {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return () => {
    chooseAccount(null);
    queries.clear();
    void navigate({ to: "/" });
  };
}

function BrokenLink({ fault }: { readonly fault: Fault }) {
  return (
    <Entry title="Welcome">
      <Failure title="This link does not open the console." requestId={fault.requestId}>
        {fault.message}
      </Failure>
      <Link to="/sign-in" search={{}} className={`${buttonClass()} justify-self-start`}>
        Sign in with a password
      </Link>
    </Entry>
  );
}

interface SetUpProps {
  readonly code: string;
  readonly email: string | null;
  readonly onDone: () => void;
}

function SetUp({ code, email, onDone }: SetUpProps) {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<Fault | null>(null);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setBusy(true);
    try {
      const given = email ?? textOf(form, "email");
      await manage.send("welcome", { body: { code, email: given, password: textOf(form, "password") } });
      onDone();
    } catch (error) {
      setFault(faultOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Entry
      title="Set up your account"
      lead="The link is good. Choose a password, so that you can come back without it."
    >
      <form className="grid gap-4" onSubmit={(event) => void submit(event)}>
        {fault === null ? null : <Failure title={fault.message} requestId={fault.requestId} />}
        <Field label="E-mail">
          {(control) => (
            <Input
              {...control}
              name="email"
              type="email"
              autoComplete="username"
              required
              defaultValue={email ?? ""}
              disabled={email !== null}
              autoFocus={email === null}
            />
          )}
        </Field>
        <Field label="Password" help="At least 12 characters; a few random words are easy to remember.">
          {(control) => (
            <Input
              {...control}
              name="password"
              type="password"
              autoComplete="new-password"
              required
              autoFocus={email !== null}
            />
          )}
        </Field>
        <Button type="submit" tone="main" disabled={isBusy} className="justify-self-start">
          {isBusy ? "Setting up" : "Set up and sign in"}
        </Button>
      </form>
    </Entry>
  );
}
