import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { featuresQuery } from "../../api.ts";
import { SignedOutPage } from "../../components/shell/signed-out-page.tsx";
import { SetUpForm, useEnter } from "../../components/shell/one-time-link.tsx";
import { buttonClass } from "../../components/ui/button.tsx";
import { signUp, textOf } from "../../sign-in.ts";

/** For installations with open sign-up. */
export function SignUpScreen() {
  const { data: options } = useQuery(featuresQuery);
  const enter = useEnter();
  /** The address that the link was sent to. */
  const [confirming, setConfirming] = useState<string | null>(null);
  if (options !== undefined && options.signUp !== "open") {
    return (
      <SignedOutPage title="Create an account" lead="Sign-up is by invitation only. Ask an operator for an invitation.">
        <Link to="/sign-in" search={{}} className={`${buttonClass()} justify-self-start`}>
          Sign in
        </Link>
      </SignedOutPage>
    );
  }
  if (confirming !== null) {
    return (
      <SignedOutPage title="Check your email">
        <p className="text-dim text-pretty">
          A link to confirm {confirming} is on its way. It signs you in and expires in one hour.
        </p>
      </SignedOutPage>
    );
  }
  const send = async (form: FormData) => {
    const [name, email, password] = [textOf(form, "name"), textOf(form, "email"), textOf(form, "password")];
    if ((await signUp({ name, email, password })) === "confirm") setConfirming(email);
    else enter();
  };
  return (
    <SignedOutPage title="Create an account" lead="Only you will have access. You can invite others later.">
      <SetUpForm email={null} asksName onSubmit={send} />
      <p className="text-12 text-dim">
        Already have an account?{" "}
        <Link to="/sign-in" search={{}} className="text-accent underline underline-offset-2">
          Sign in
        </Link>
        .
      </p>
    </SignedOutPage>
  );
}
