import { ACCOUNT_HEADER, type Accepted, type InvitationOffer, type SessionInfo } from "@promptd/contract/manage";
import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { faultOf, isSignedOut, manage, sessionQuery, type Fault } from "../../api.ts";
import { FaultNote } from "../../components/fault-note.tsx";
import { OtherWaysIn } from "../../components/shell/other-ways-in.tsx";
import { SignedOutPage } from "../../components/shell/signed-out-page.tsx";
import {
  BrokenLink,
  ConfirmPage,
  INCOMPLETE_LINK,
  SetUpForm,
  takeCode,
  useEnter,
  SetUpShapes,
} from "../../components/shell/one-time-link.tsx";
import { SignInForm } from "../../components/shell/sign-in-form.tsx";
import { useAction } from "../../components/use-action.ts";
import { textOf } from "../../sign-in.ts";

type Stage =
  | { readonly kind: "checking" }
  | (InvitationOffer & { readonly kind: "join"; readonly session: SessionInfo })
  | Exclude<Accepted, { readonly kind: "signed_in" }>
  | { readonly kind: "failed"; readonly fault: Fault };

/** Null if nobody is signed in. */
async function findSession(queries: QueryClient): Promise<SessionInfo | null> {
  try {
    return await queries.fetchQuery(sessionQuery);
  } catch (error) {
    if (isSignedOut(error)) return null;
    throw error;
  }
}

/** Says who invites and to what, so that nobody joins an account unseen. */
function Offer({ account, invitedBy, end }: InvitationOffer & { readonly end: string }) {
  return (
    <span className="[overflow-wrap:anywhere]">
      <bdi className="font-medium text-ink">{invitedBy}</bdi> invites you to{" "}
      {account === null ? (
        "promptd, with your own account"
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

const STORED_CODE = "promptd.invitation";
const PATH = "/invitation";

/** The link's code. A sign-in service leads back without it, so the code is stored before leaving. */
function takeInvitation(): string {
  const code = takeCode() || (sessionStorage.getItem(STORED_CODE) ?? "");
  sessionStorage.removeItem(STORED_CODE);
  return code;
}

/** Alternatives to a password: sign-in services, and a passkey if the person may have one. */
function OtherWays({ code, onPasskey }: { readonly code: string; readonly onPasskey: (() => void) | null }) {
  const action = useAction();
  const store = () => sessionStorage.setItem(STORED_CODE, code);
  return (
    <>
      <FaultNote fault={action.fault} />
      <OtherWaysIn action={action} onPasskey={onPasskey} from={PATH} onLeave={store} />
    </>
  );
}

interface JoinProps extends InvitationOffer {
  readonly code: string;
  readonly session: SessionInfo;
  readonly onAccept: () => Promise<void>;
}

/** For people who are signed in. */
function Join({ code, session, onAccept, ...offer }: JoinProps) {
  return (
    <ConfirmPage
      code={code}
      title="Accept the invitation"
      lead={<Offer {...offer} end={`You are signed in as ${session.person.email}.`} />}
      submit="Accept"
      onConfirm={onAccept}
    />
  );
}

/**
 * The page behind an invitation link. New people choose a name and a password or use a sign-in service. Known people
 * sign in. Signed-in people must confirm, because another site may have sent them here.
 */
export function InvitationScreen() {
  const [code] = useState(takeInvitation);
  const [stage, setStage] = useState<Stage>(
    code === "" ? { kind: "failed", fault: INCOMPLETE_LINK } : { kind: "checking" },
  );
  const isSent = useRef(false);
  const queries = useQueryClient();
  const enter = useEnter();
  const fail = (error: unknown) => setStage({ kind: "failed", fault: faultOf(error) });
  /** Every write names an account. The person is not a member yet, so this one names their own. */
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
      setStage(session === null || answer.kind !== "sign_in" ? answer : { ...answer, kind: "join", session });
    };
    open().catch(fail);
  });

  if (stage.kind === "failed") return <BrokenLink title="Invitation" fault={stage.fault} />;
  if (stage.kind === "join") return <Join {...stage} code={code} onAccept={() => join(stage.session)} />;
  if (stage.kind === "sign_in") {
    const goOn = () => void queries.fetchQuery(sessionQuery).then(join).catch(fail);
    return (
      <SignedOutPage
        title="Accept the invitation"
        lead={<Offer {...stage} end="You already have an account here. Sign in to accept." />}
      >
        <SignInForm email={stage.email} onDone={goOn} />
        <OtherWays code={code} onPasskey={goOn} />
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
        <OtherWays code={code} onPasskey={null} />
      </SignedOutPage>
    );
  }
  return (
    <SignedOutPage title="Invitation">
      <SetUpShapes what="your invitation" />
    </SignedOutPage>
  );
}
