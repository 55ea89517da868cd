import type { Features } from "@promptd/contract/manage";
import { useQuery } from "@tanstack/react-query";
import { Link, useRouter, useSearch } from "@tanstack/react-router";
import { featuresQuery } from "../../api.ts";
import { OtherWaysIn } from "../../components/shell/other-ways-in.tsx";
import { SignedOutPage } from "../../components/shell/signed-out-page.tsx";
import { SignInForm } from "../../components/shell/sign-in-form.tsx";
import { Failure } from "../../components/ui/empty.tsx";
import { useAction } from "../../components/use-action.ts";
import { ownPath, UNCONFIRMED } from "../../sign-in.ts";

const REFUSED = "The sign-in service did not identify you. Try again, or sign in another way.";
/** Why new people cannot sign in, by sign-up setting. */
const NOT_LET_IN: Readonly<Record<Features["signUp"], string>> = {
  off: "You do not have an account here, and sign-up is closed. Ask an operator for an account.",
  invite:
    "You do not have an account here, and sign-up is by invitation only. Open your invitation link, or ask for one.",
  open: "An account with this email address already exists, but nobody signs in to it. Ask an operator for a sign-in link.",
};

const NOT_LINKED = "An account with this email address already exists, but the sign-in service is not linked to it.";

/** The message for an error that a sign-in service or the server returned. */
function sentenceOf(error: string, { signUp, mail }: Features): string {
  if (error === "account_not_linked")
    return mail
      ? `${NOT_LINKED} Sign in with your password, or request a link to set one. Then link the service under Settings, Security.`
      : `${NOT_LINKED} Sign in with your password, or ask an operator for a sign-in link. Then link the service under Settings, Security.`;
  if (error === "email_not_verified") return UNCONFIRMED;
  return error === "SIGN_UP_REFUSED" ? NOT_LET_IN[signUp] : REFUSED;
}

export function SignInScreen() {
  const { from, error } = useSearch({ from: "/sign-in" });
  const router = useRouter();
  const { data: options } = useQuery(featuresQuery);
  const action = useAction();
  const refusal = error === undefined || options === undefined ? null : sentenceOf(error, options);
  const fault = action.fault?.message ?? refusal;
  const goOn = () => router.history.push(ownPath(from));
  return (
    <SignedOutPage title="Sign in">
      {fault === null ? null : <Failure title={fault} />}
      <SignInForm onDone={goOn} />
      <OtherWaysIn action={action} onPasskey={goOn} from={ownPath(from)} />
      <p className="text-12 text-dim text-pretty">
        {options?.signUp === "open" ? (
          <>
            New here?{" "}
            <Link to="/sign-up" className="text-accent underline underline-offset-2">
              Create an account
            </Link>
            .{" "}
          </>
        ) : null}
        Forgot your password, or never set one?{" "}
        <Link to="/forgot-password" className="text-accent underline underline-offset-2">
          Request a link
        </Link>
        . What is promptd?{" "}
        <Link to="/docs" className="text-accent underline underline-offset-2">
          Read the docs
        </Link>
        .
      </p>
    </SignedOutPage>
  );
}
