import type { Invitation, NewPersonInvitation } from "@promptd/contract/manage";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { manage, sessionQuery } from "../../api.ts";
import { countCredits } from "../../components/format.ts";
import { FormDialog } from "../../components/form-dialog.tsx";
import { InvitationTable } from "../../components/invitations/invitation-table.tsx";
import { hasNothing, ListPanel } from "../../components/list-panel.tsx";
import { runWithToast } from "../../components/run-with-toast.ts";
import { Field, Input, Select } from "../../components/ui/field.tsx";
import { textOf } from "../../sign-in.ts";
import { personInvitationsQuery } from "./queries.ts";

interface OpenInvitationsProps {
  readonly q: string | undefined;
  /** Invites an address again, which invalidates the earlier link. */
  readonly onRenew: (row: Invitation) => void;
}

/** People invited to the installation who have not accepted yet. Renders nothing if there are none. */
export function OpenInvitations({ q, onRenew }: OpenInvitationsProps) {
  const query = personInvitationsQuery(q);
  const invitations = useInfiniteQuery(query);
  const queries = useQueryClient();
  if ((invitations.data === undefined && !invitations.isError) || hasNothing(invitations)) return null;
  const revoke = async ({ invitationId }: Invitation) => {
    await runWithToast(() => manage.send("revokePersonInvitation", { params: { invitationId } }), "Invitation revoked");
    await queries.invalidateQueries({ queryKey: query.queryKey });
  };
  return (
    <ListPanel list={invitations} what="The invitations" title="Not accepted yet" note={null} empty={null}>
      {(rows) => <InvitationTable rows={rows} onRenew={onRenew} onRevoke={(row) => void revoke(row)} />}
    </ListPanel>
  );
}

interface InviteDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onInvite: (invitation: NewPersonInvitation) => Promise<void>;
}

/** Invites to the installation. The new account's plan and credits come from the settings unless overridden here. */
export function InviteDialog({ isOpen, onClose, onInvite }: InviteDialogProps) {
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={onClose}
      title="Invite to this installation"
      description="They get their own account. It needs a plan and credits to run prompts that cost credits."
      submit="Invite"
      onSubmit={(form) => onInvite(invitationIn(form))}
    >
      <Field label="Email">
        {(control) => <Input {...control} name="email" type="email" required maxLength={254} autoFocus />}
      </Field>
      <TermsFields />
    </FormDialog>
  );
}

const PLANS = ["pro", "none"] as const;

/** The account's starting plan and credits. The default plan is offered once, marked as the default. */
function TermsFields() {
  const session = useQuery(sessionQuery);
  const everybodys = session.data?.features.newAccounts ?? { plan: "none", credits: 0 };
  const [plan, setPlan] = useState("");
  const [credits, setCredits] = useState("");
  const isGiven = Number(credits === "" ? everybodys.credits : credits) > 0;
  const isRefused = isGiven && (plan === "" ? everybodys.plan : plan) === "none";
  return (
    <>
      <Field label="Plan" help={isRefused ? "Without a plan, the account can’t run prompts." : null}>
        {(control) => (
          <Select {...control} name="plan" value={plan} onChange={({ target }) => setPlan(target.value)}>
            <option value="">{everybodys.plan} (default)</option>
            {PLANS.filter((one) => one !== everybodys.plan).map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label="Credits" help={`Leave empty for the default of ${countCredits(everybodys.credits)}.`}>
        {(control) => (
          <Input
            {...control}
            name="credits"
            type="number"
            min={0}
            max={CREDITS_MAX}
            step={1}
            value={credits}
            onChange={({ target }) => setCredits(target.value)}
          />
        )}
      </Field>
    </>
  );
}

const CREDITS_MAX = 1_000_000_000;

function invitationIn(form: FormData): NewPersonInvitation {
  const [plan, credits] = [textOf(form, "plan"), textOf(form, "credits")];
  return {
    email: textOf(form, "email"),
    plan: plan === "pro" || plan === "none" ? plan : undefined,
    credits: credits === "" ? undefined : Number(credits),
  };
}
