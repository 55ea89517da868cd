import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useRouter, useSearch } from "@tanstack/react-router";
import { Fingerprint } from "lucide-react";
import { featuresQuery } from "../../api.ts";
import { SignedOutPage } from "../../components/shell/signed-out-page.tsx";
import { SignInForm } from "../../components/shell/sign-in-form.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Failure } from "../../components/ui/empty.tsx";
import { useAction } from "../../components/use-action.ts";
import { canUsePasskeys, signInWithPasskey } from "../../passkeys.ts";
import { ownPath, serviceAddress } from "../../sign-in.ts";

const SENTENCES: Readonly<Record<string, string>> = {
  account_not_linked: "An account with this email address already exists. Sign in with your password.",
  signup_disabled: "Sign-up is by invitation only. Ask for an invitation.",
};
const REFUSED = "The sign-in service did not say who you are. Try again, or sign in another way.";
const NAMES: Readonly<Record<string, string>> = { github: "GitHub", google: "Google" };

export function SignInScreen() {
  const { from, error } = useSearch({ from: "/sign-in" });
  const router = useRouter();
  const { data: options } = useQuery(featuresQuery);
  const queries = useQueryClient();
  const action = useAction();
  const goTo = (service: string) =>
    action.run(async () => location.assign(await serviceAddress(service, ownPath(from))));
  const refusal = error === undefined ? null : (SENTENCES[error] ?? REFUSED);
  const fault = action.fault?.message ?? refusal;
  const hasPasskeys = options?.passkeys === true && canUsePasskeys();
  const goOn = () => router.history.push(ownPath(from));
  const usePasskey = () =>
    action.run(async () => {
      await signInWithPasskey();
      queries.clear();
      goOn();
    });
  return (
    <SignedOutPage title="Sign in">
      {fault === null ? null : <Failure title={fault} />}
      <SignInForm onDone={goOn} />
      {options === undefined || (options.signInWith.length === 0 && !hasPasskeys) ? null : (
        <div className="flex flex-wrap gap-2 border-t border-line pt-4">
          {hasPasskeys ? (
            <Button disabled={action.isBusy} onClick={() => void usePasskey()}>
              <Fingerprint aria-hidden className="size-4" strokeWidth={1.75} />
              Sign in with a passkey
            </Button>
          ) : null}
          {options.signInWith.map((service) => (
            <Button key={service} disabled={action.isBusy} onClick={() => void goTo(service)}>
              Sign in with {NAMES[service] ?? options.oidcName ?? service}
            </Button>
          ))}
        </div>
      )}
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
        No password, or a forgotten one?{" "}
        <Link to="/forgot-password" className="text-accent underline underline-offset-2">
          Ask for a link
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
