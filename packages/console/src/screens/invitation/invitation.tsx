import { ACCOUNT_HEADER, type Accepted, type InvitationOffer, type SessionInfo } from "@promptd/contract/manage";
import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { faultOf, isSignedOut, manage, sessionQuery, type Fault } from "../../api.ts";
import { SignedOutPage } from "../../components/shell/signed-out-page.tsx";
import {
  BrokenLink,
  INCOMPLETE_LINK,
  SetUpForm,
  takeCode,
  useEnter,
  SetUpShapes,
} from "../../components/shell/one-time-link.tsx";
import { SignInForm } from "../../components/shell/sign-in-form.tsx";
import { textOf } from "../../sign-in.ts";

type Stage =
  | { readonly kind: "checking" }
  | Exclude<Accepted, { readonly kind: "signed_in" }>
  | { readonly kind: "failed"; readonly fault: Fault };

/** Null: nobody is signed in. */
async function findSession(queries: QueryClient): Promise<SessionInfo | null> {
  try {
    return await queries.fetchQuery(sessionQuery);
  } catch (error) {
    if (isSignedOut(error)) return null;
    throw error;
  }
}

/** Who invites, and to what: nobody should join an account unseen. */
function Offer({ account, invitedBy, end }: InvitationOffer & { readonly end: string }) {
  return (
    <span className="[overflow-wrap:anywhere]">
      <bdi className="font-medium text-ink">{invitedBy}</bdi> invites you to{" "}
      {account === null ? (
        "promptd, with an account of your own"
      ) : account === invitedBy ? (
        "their account"
      ) : (
        <>
          the account <bdi className="font-medium text-ink">{account}</bdi>
        </>
      )}
      . {end}
    </span>
  );
}

/** The link of an invitation: new people choose a name and a password, known people sign in, and both are members then. */
export function InvitationScreen() {
  const [code] = useState(takeCode);
  const [stage, setStage] = useState<Stage>(
    code === "" ? { kind: "failed", fault: INCOMPLETE_LINK } : { kind: "checking" },
  );
  const isSent = useRef(false);
  const queries = useQueryClient();
  const enter = useEnter();
  const fail = (error: unknown) => setStage({ kind: "failed", fault: faultOf(error) });
  /** A write names the account that it is made in: before the person is a member, one that they have. */
  const join = async (session: SessionInfo) => {
    const headers = { [ACCOUNT_HEADER]: session.accountId };
    const { accountId } = await manage.send("joinAccount", { body: { code }, headers });
    enter(accountId);
  };

  useEffect(() => {
    if (isSent.current || code === "") return; // React's strict mode runs effects twice
    isSent.current = true;
    const open = async () => {
      const answer = await manage.send("acceptInvitation", { body: { code } });
      if (answer.kind === "signed_in") return enter(answer.accountId);
      const session = answer.kind === "sign_in" ? await findSession(queries) : null;
      return session === null ? setStage(answer) : join(session);
    };
    open().catch(fail);
  });

  if (stage.kind === "failed") return <BrokenLink title="Invitation" fault={stage.fault} />;
  if (stage.kind === "sign_in") {
    return (
      <SignedOutPage
        title="Accept the invitation"
        lead={<Offer {...stage} end="You have an account here already. Sign in to accept." />}
      >
        <SignInForm email={stage.email} onDone={() => void queries.fetchQuery(sessionQuery).then(join).catch(fail)} />
      </SignedOutPage>
    );
  }
  if (stage.kind === "set_up") {
    const send = async (form: FormData) => {
      const body = { code, name: textOf(form, "name"), password: textOf(form, "password") };
      const answer = await manage.send("acceptInvitation", { body });
      if (answer.kind === "signed_in") enter(answer.accountId);
      else setStage(answer);
    };
    return (
      <SignedOutPage
        title="Accept the invitation"
        lead={<Offer {...stage} end="Choose a name and a password to accept." />}
      >
        <SetUpForm email={stage.email} asksName onSubmit={send} />
      </SignedOutPage>
    );
  }
  return (
    <SignedOutPage title="Invitation">
      <SetUpShapes what="your invitation" />
    </SignedOutPage>
  );
}
