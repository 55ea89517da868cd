/** What the pages behind a one-time link share: the code, the form of a new person, and the end of a link that is used. */
import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { chooseAccount } from "../../account.ts";
import type { Fault } from "../../api.ts";
import { ActionForm } from "../action-form.tsx";
import { buttonClass } from "../ui/button.tsx";
import { Failure } from "../ui/empty.tsx";
import { Field, Input } from "../ui/field.tsx";
import { Loading, Skeleton } from "../ui/skeleton.tsx";
import { useAction } from "../use-action.ts";
import { SignedOutPage } from "./signed-out-page.tsx";
import { EmailField, PasswordField } from "./person-fields.tsx";

/** The fragment never reaches a server's log; it is taken out of the address so that no history shows it either. */
export function takeCode(): string {
  const code = location.hash.slice(1);
  if (code !== "") history.replaceState(history.state, "", location.pathname);
  return code;
}

/** Opens the console as who is signed in now, in the given account, else in their own. */
export function useEnter(): (accountId?: string | null) => void {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return (accountId = null) => {
    chooseAccount(accountId);
    queries.clear();
    void navigate({ to: "/" });
  };
}

/** A link that was cut off, or a page that was loaded again: the code is taken out of the address when it is opened. */
export const INCOMPLETE_LINK: Fault = {
  message: "The code is missing from the address, for example after a reload. Open the complete link again.",
  requestId: null,
  isSignedOut: false,
};

interface BrokenLinkProps {
  readonly title: string;
  readonly fault: Fault;
}

/** It stays in one line: nobody can read a command whose `--flag` is broken after its first hyphen. */
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

/** For who changes their mind; who is signed in is led past it. */
export function BackToSignIn() {
  return (
    <p className="text-12 text-dim">
      <Link to="/sign-in" search={{}} className="text-accent underline underline-offset-2">
        Back to sign-in
      </Link>
    </p>
  );
}

/** While the code of a link is sent. */
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
  /** Known already: it cannot be changed then. */
  readonly email: string | null;
  readonly asksName?: boolean;
  /** The verb on the button. */
  readonly submit?: string;
  /** Rejects with what is to be said of a failure. */
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
