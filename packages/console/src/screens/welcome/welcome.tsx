import { useEffect, useRef, useState } from "react";
import { faultOf, manage, type Fault } from "../../api.ts";
import { SignedOutPage } from "../../components/shell/signed-out-page.tsx";
import {
  BackToSignIn,
  BrokenLink,
  INCOMPLETE_LINK,
  SetUpForm,
  takeCode,
  useEnter,
  SetUpShapes,
} from "../../components/shell/one-time-link.tsx";
import { toast } from "../../components/ui/toast.tsx";
import { greetNext } from "../../greeting.ts";
import { textOf } from "../../sign-in.ts";

type Stage =
  | { readonly kind: "checking" }
  | { readonly kind: "set_up"; readonly email: string | null }
  | { readonly kind: "failed"; readonly fault: Fault };

/** The page behind a welcome link. It signs in at once on the server's machine. Elsewhere it asks for email and password. */
export function WelcomeScreen() {
  const [code] = useState(takeCode);
  const [stage, setStage] = useState<Stage>(
    code === "" ? { kind: "failed", fault: INCOMPLETE_LINK } : { kind: "checking" },
  );
  const isSent = useRef(false);
  const enter = useEnter();

  useEffect(() => {
    if (isSent.current || code === "") return; // a code works once, and React's strict mode runs effects twice
    isSent.current = true;
    manage
      .send("welcome", { body: { code } })
      .then((answer) => {
        if (answer.kind !== "signed_in") return setStage(answer);
        greetNext();
        return enter();
      })
      .catch((error: unknown) => setStage({ kind: "failed", fault: faultOf(error) }));
  }, [code, enter]);

  if (stage.kind === "failed") return <BrokenLink title="Welcome" fault={stage.fault} />;
  if (stage.kind === "set_up") return <SetUp code={code} email={stage.email} onDone={() => enter()} />;
  return (
    <SignedOutPage title="Welcome">
      <SetUpShapes what="your account" />
    </SignedOutPage>
  );
}

interface SetUpProps {
  readonly code: string;
  readonly email: string | null;
  readonly onDone: () => void;
}

function SetUp({ code, email, onDone }: SetUpProps) {
  const isNew = email === null;
  const send = async (form: FormData) => {
    const given = email ?? textOf(form, "email");
    await manage.send("welcome", { body: { code, email: given, password: textOf(form, "password") } });
    greetNext();
    toast(isNew ? "Your account is set up, and you are signed in" : "Password set. You are signed in");
    onDone();
  };
  return (
    <SignedOutPage
      title="Set up your account"
      lead={
        isNew
          ? "Enter your email and choose a password. From now on, you sign in with both."
          : "Choose a password. From now on, you sign in with it."
      }
    >
      <SetUpForm email={email} submit={isNew ? "Set up and sign in" : "Set password"} onSubmit={send} />
      <BackToSignIn />
    </SignedOutPage>
  );
}
