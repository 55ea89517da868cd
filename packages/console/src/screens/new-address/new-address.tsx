import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { manage } from "../../api.ts";
import { SignedOutPage } from "../../components/shell/signed-out-page.tsx";
import { INCOMPLETE_LINK, takeCode } from "../../components/shell/one-time-link.tsx";
import { Button, buttonClass } from "../../components/ui/button.tsx";
import { FaultNote } from "../../components/fault-note.tsx";
import { useAction } from "../../components/use-action.ts";

/** Behind the link to a new address. Programs that open links of mails must not change anything, so a person does. */
export function NewAddressScreen() {
  const [code] = useState(takeCode);
  const [email, setEmail] = useState<string | null>(null);
  const queries = useQueryClient();
  const action = useAction();
  const confirm = () =>
    action.run(async () => {
      setEmail((await manage.send("confirmEmailChange", { body: { code } })).email);
      queries.clear();
    });
  if (email !== null) {
    return (
      <SignedOutPage title="Address changed" lead={`From now on, sign in as ${email}. You are still signed in.`}>
        <Link to="/" search={{}} className={`${buttonClass({ tone: "main" })} justify-self-start`}>
          Continue
        </Link>
      </SignedOutPage>
    );
  }
  if (code === "") {
    return (
      <SignedOutPage title="Confirm your new address">
        <FaultNote fault={INCOMPLETE_LINK} />
      </SignedOutPage>
    );
  }
  return (
    <SignedOutPage
      title="Confirm your new address"
      lead="After you confirm, sign in with this address instead of the old one."
    >
      <FaultNote fault={action.fault} />
      <Button tone="main" disabled={action.isBusy} className="justify-self-start" onClick={() => void confirm()}>
        Confirm address
      </Button>
    </SignedOutPage>
  );
}
