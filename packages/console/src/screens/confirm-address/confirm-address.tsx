import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { FaultNote } from "../../components/fault-note.tsx";
import { BackToSignIn, INCOMPLETE_LINK, takeCode, useEnter } from "../../components/shell/one-time-link.tsx";
import { SignedOutPage } from "../../components/shell/signed-out-page.tsx";
import { Button, buttonClass } from "../../components/ui/button.tsx";
import { useAction } from "../../components/use-action.ts";
import { confirmAddress } from "../../sign-in.ts";

/** Behind the link that goes to who has signed up. Programs that open links of mails must not confirm anything, so a person does. */
export function ConfirmAddressScreen() {
  const [token] = useState(takeCode);
  const [isDone, setDone] = useState(false);
  const enter = useEnter();
  const action = useAction();
  const confirm = () =>
    action.run(async () => {
      if ((await confirmAddress(token)) === "signed_in") enter();
      else setDone(true);
    });
  if (isDone) {
    return (
      <SignedOutPage title="Address confirmed" lead="You can now sign in with it.">
        <Link to="/sign-in" search={{}} className={`${buttonClass({ tone: "main" })} justify-self-start`}>
          Sign in
        </Link>
      </SignedOutPage>
    );
  }
  if (token === "") {
    return (
      <SignedOutPage title="Confirm your email address">
        <FaultNote fault={INCOMPLETE_LINK} />
      </SignedOutPage>
    );
  }
  return (
    <SignedOutPage
      title="Confirm your email address"
      lead="Confirming also signs you in. If you did not sign up here, close this page."
    >
      <FaultNote fault={action.fault} />
      <Button tone="main" disabled={action.isBusy} className="justify-self-start" onClick={() => void confirm()}>
        Confirm and sign in
      </Button>
      <BackToSignIn />
    </SignedOutPage>
  );
}
