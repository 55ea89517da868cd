/** What the pages behind one-time links share: the code, the form for a new person, and the page for a used link. */
import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { chooseAccount } from "../../account.ts";
import type { Fault } from "../../api.ts";
import { ActionForm } from "../action-form.tsx";
import { FaultNote } from "../fault-note.tsx";
import { Button, buttonClass } from "../ui/button.tsx";
import { Failure } from "../ui/empty.tsx";
import { Field, Input } from "../ui/field.tsx";
import { Loading, Skeleton } from "../ui/skeleton.tsx";
import { useAction } from "../use-action.ts";
import { SignedOutPage } from "./signed-out-page.tsx";
import { EmailField, PasswordField } from "./person-fields.tsx";

/** Takes the code from the fragment, which no server log sees, and removes it so that no browser history shows it. */
export function takeCode(): string {
  const code = location.hash.slice(1);
  if (code !== "") history.replaceState(history.state, "", location.pathname);
  return code;
}

/** Opens the console for the person now signed in, in the given account or else their own. */
export function useEnter(): (accountId?: string | null) => void {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return (accountId = null) => {
    chooseAccount(accountId);
    queries.clear();
    void navigate({ to: "/" });
  };
}

/** For a truncated link or a reloaded page. Opening a link removes the code from the address. */
export const INCOMPLETE_LINK: Fault = {
  message: "The code is missing from the address, for example after a reload. Open the complete link again.",
  requestId: null,
  isSignedOut: false,
};

interface ConfirmPageProps {
  /** The link's code. */
  readonly code: string;
  readonly title: string;
  readonly lead: ReactNode;
  /** The verb on the button. */
  readonly submit: string;
  readonly onConfirm: () => Promise<unknown>;
  /** Below the button. */
  readonly children?: ReactNode;
}

/** A page behind a link that changes something only at the press of a button, because mail scanners open links too. */
export function ConfirmPage({ code, title, lead, submit, onConfirm, children }: ConfirmPageProps) {
  const { fault, isBusy, run } = useAction();
  if (code === "") {
    return (
      <SignedOutPage title={title}>
        <FaultNote fault={INCOMPLETE_LINK} />
      </SignedOutPage>
    );
  }
  return (
    <SignedOutPage title={title} lead={lead}>
      <FaultNote fault={fault} />
      <Button tone="main" disabled={isBusy} className="justify-self-start" onClick={() => void run(onConfirm)}>
        {submit}
      </Button>
      {children}
    </SignedOutPage>
  );
}

interface DonePageProps {
  readonly title: string;
  readonly lead: string;
  readonly to: "/" | "/sign-in";
  readonly label: string;
}

/** Shown once the link's action has succeeded, with the way on. */
export function DonePage({ title, lead, to, label }: DonePageProps) {
  return (
    <SignedOutPage title={title} lead={lead}>
      <Link to={to} search={{}} className={`${buttonClass({ tone: "main" })} justify-self-start`}>
        {label}
      </Link>
    </SignedOutPage>
  );
}

interface BrokenLinkProps {
  readonly title: string;
  readonly fault: Fault;
}

/** Kept on one line: a command is unreadable when its `--flag` wraps after the first hyphen. */
const WORD_WITH_HYPHEN = /([^\s"]*-[^\s"]*)/;

export function BrokenLink({ title, fault }: BrokenLinkProps) {
  return (
    <SignedOutPage title={title}>
      <Failure title="This link did not work." requestId={fault.requestId}>
        {fault.message.split(WORD_WITH_HYPHEN).map((part, index) =>
          index % 2 === 0 ? (
            part
          ) : (
            <span key={index} className="inline-block">
              {part}
            </span>
          ),
        )}
      </Failure>
      <Link to="/sign-in" search={{}} className={`${buttonClass()} justify-self-start`}>
        Sign in with a password
      </Link>
    </SignedOutPage>
  );
}

/** A way out. People who are signed in are redirected past the sign-in page. */
export function BackToSignIn() {
  return (
    <p className="text-12 text-dim">
      <Link to="/sign-in" search={{}} className="text-accent underline underline-offset-2">
        Back to sign-in
      </Link>
    </p>
  );
}

/** Placeholder while the link's code is being sent. */
export function SetUpShapes({ what }: { readonly what: string }) {
  return (
    <Loading what={what}>
      <div className="grid gap-3">
        <Skeleton className="h-3 w-2/3" />
        <Skeleton className="h-8" />
        <Skeleton className="h-8" />
      </div>
    </Loading>
  );
}

interface SetUpFormProps {
  /** If known, it cannot be changed. */
  readonly email: string | null;
  readonly asksName?: boolean;
  /** The verb on the button. */
  readonly submit?: string;
  /** Rejects with the message to show. */
  readonly onSubmit: (form: FormData) => Promise<void>;
}

export function SetUpForm({ email, asksName = false, submit = "Set up and sign in", onSubmit }: SetUpFormProps) {
  const action = useAction();
  return (
    <ActionForm action={action} submit={submit} onSubmit={(form) => action.run(() => onSubmit(form))}>
      <EmailField known={email} />
      {asksName ? (
        <Field label="Name">
          {(control) => (
            <Input {...control} name="name" autoComplete="name" maxLength={100} required autoFocus={email !== null} />
          )}
        </Field>
      ) : null}
      <PasswordField kind="new" autoFocus={email !== null && !asksName} />
    </ActionForm>
  );
}
