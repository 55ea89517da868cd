import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { manage } from "../../api.ts";
import { Entry } from "../../components/shell/entry.tsx";
import { takeCode } from "../../components/shell/one-time-link.tsx";
import { Button, buttonClass } from "../../components/ui/button.tsx";
import { Failure } from "../../components/ui/empty.tsx";
import { useAct } from "../../components/use-act.ts";

/** Behind the link to a new address. Programs that open links of mails must not change anything, so a person does. */
export function NewAddressScreen() {
  const [code] = useState(takeCode);
  const [email, setEmail] = useState<string | null>(null);
  const queries = useQueryClient();
  const act = useAct();
  const confirm = () =>
    act.run(async () => {
      setEmail((await manage.send("confirmEmailChange", { body: { code } })).email);
      queries.clear();
    });
  if (email !== null) {
    return (
      <Entry title="Address changed" lead={`You sign in as ${email} from now on. Your sessions go on.`}>
        <Link to="/" search={{}} className={`${buttonClass({ tone: "main" })} justify-self-start`}>
          Go on
        </Link>
      </Entry>
    );
  }
  return (
    <Entry title="Confirm your new address" lead="From then on you sign in by it, and no more by the one before.">
      {act.fault === null ? null : <Failure title={act.fault.message} requestId={act.fault.requestId} />}
      <Button tone="main" disabled={act.isBusy} className="justify-self-start" onClick={() => void confirm()}>
        Confirm the address
      </Button>
    </Entry>
  );
}
