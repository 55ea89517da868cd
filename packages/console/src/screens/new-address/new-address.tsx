import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { manage } from "../../api.ts";
import { ConfirmPage, DonePage, takeCode } from "../../components/shell/one-time-link.tsx";

/** The page behind the link that confirms a person's new address. */
export function NewAddressScreen() {
  const [code] = useState(takeCode);
  const [email, setEmail] = useState<string | null>(null);
  const queries = useQueryClient();
  const confirm = async () => {
    setEmail((await manage.send("confirmEmailChange", { body: { code } })).email);
    queries.clear();
  };
  if (email !== null) {
    const lead = `From now on, sign in as ${email}. You are still signed in.`;
    return <DonePage title="Address changed" lead={lead} to="/" label="Continue" />;
  }
  return (
    <ConfirmPage
      code={code}
      title="Confirm your new address"
      lead="After you confirm, sign in with this address instead of the old one."
      submit="Confirm address"
      onConfirm={confirm}
    />
  );
}
