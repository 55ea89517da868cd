import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { featuresQuery } from "../../api.ts";
import { ActionForm } from "../../components/action-form.tsx";
import { BackToSignIn } from "../../components/shell/one-time-link.tsx";
import { SignedOutPage } from "../../components/shell/signed-out-page.tsx";
import { EmailField } from "../../components/shell/person-fields.tsx";
import { useAction } from "../../components/use-action.ts";
import { askAuth, textOf } from "../../sign-in.ts";

/** Shows the same text whether or not the address is known here. */
export function ForgotPasswordScreen() {
  const { data: features } = useQuery(featuresQuery);
  const action = useAction();
  const [email, setEmail] = useState<string | null>(null);
  const hasMail = features?.mail !== false;
  if (email !== null) {
    return (
      <SignedOutPage title={hasMail ? "Check your email" : "Request sent to the operators"}>
        <p className="text-dim text-pretty">
          {hasMail
            ? `If someone signs in here with ${email}, a link is on its way. It works once and expires in one hour.`
            : `If someone signs in here with ${email}, operators see the request. One of them can create a link and give it to you. This server does not send email.`}
        </p>
        <BackToSignIn />
      </SignedOutPage>
    );
  }
  return (
    <SignedOutPage
      title="Forgot your password?"
      lead={
        hasMail
          ? "Enter your email. We’ll send you a link to choose a new password."
          : "This server does not send email. Operators see your request, and one of them can create a link for you."
      }
    >
      <ActionForm
        action={action}
        submit={hasMail ? "Send link" : "Request a link"}
        onSubmit={(form) =>
          action.run(async () => {
            await askAuth("request-password-reset", { email: textOf(form, "email") });
            setEmail(textOf(form, "email"));
          })
        }
      >
        <EmailField />
      </ActionForm>
      <BackToSignIn />
    </SignedOutPage>
  );
}
