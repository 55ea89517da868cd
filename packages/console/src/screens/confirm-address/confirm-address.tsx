import { useState } from "react";
import { BackToSignIn, ConfirmPage, DonePage, takeCode, useEnter } from "../../components/shell/one-time-link.tsx";
import { confirmAddress } from "../../sign-in.ts";

/** The page behind the link that confirms the address of a new person. */
export function ConfirmAddressScreen() {
  const [token] = useState(takeCode);
  const [isDone, setDone] = useState(false);
  const enter = useEnter();
  const confirm = async () => {
    if ((await confirmAddress(token)) === "signed_in") enter();
    else setDone(true);
  };
  if (isDone)
    return <DonePage title="Address confirmed" lead="You can now sign in with it." to="/sign-in" label="Sign in" />;
  return (
    <ConfirmPage
      code={token}
      title="Confirm your email address"
      lead="Confirming also signs you in. If you did not sign up here, close this page."
      submit="Confirm and sign in"
      onConfirm={confirm}
    >
      <BackToSignIn />
    </ConfirmPage>
  );
}
