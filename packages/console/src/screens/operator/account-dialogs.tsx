import { randomKey } from "@promptd/client/manage";
import type { AccountDetail } from "@promptd/contract/manage";
import { useMemo } from "react";
import { manage } from "../../api.ts";
import { countCredits } from "../../components/format.ts";
import { FormDialog } from "../../components/form-dialog.tsx";
import { Field, Input, Select } from "../../components/ui/field.tsx";
import { toast } from "../../components/ui/toast.tsx";
import { textOf } from "../../sign-in.ts";

export type AccountAction = "grant" | "plan" | "freeze" | "unfreeze";

interface AccountDialogProps {
  /** Null if no dialog is open. */
  readonly action: AccountAction | null;
  readonly account: AccountDetail;
  readonly onClose: () => void;
  readonly onDone: () => Promise<unknown>;
}

/** The decisions an operator can make about an account. */
export function AccountDialog({ action, account, onClose, onDone }: AccountDialogProps) {
  const shared = { account, onClose, onDone };
  return (
    <>
      <Grant isOpen={action === "grant"} {...shared} />
      <Plan isOpen={action === "plan"} {...shared} />
      <Freeze isOpen={action === "freeze" || action === "unfreeze"} isFrozen={action === "freeze"} {...shared} />
    </>
  );
}

type OneProps = Omit<AccountDialogProps, "action"> & { readonly isOpen: boolean };

const endOf = (day: string) => (day === "" ? null : new Date(`${day}T23:59:59Z`).toISOString());

function Grant({ isOpen, account, onClose, onDone }: OneProps) {
  // One dialog makes one grant, however often its button is pressed.
  const key = useMemo(() => (isOpen ? randomKey() : ""), [isOpen]);
  const grant = async (form: FormData) => {
    const [amount, reason] = [Number(textOf(form, "amount")), textOf(form, "reason").trim()];
    const expiresAt = endOf(textOf(form, "expires"));
    await manage.call("grantCredits", {
      body: { account: account.accountId, amount, expiresAt, ...(reason === "" ? {} : { reason }) },
      headers: { "idempotency-key": key },
    });
    toast(`${countCredits(amount)} granted`);
    await onDone();
  };
  return (
    <FormDialog isOpen={isOpen} onClose={onClose} title="Grant credits" submit="Grant credits" onSubmit={grant}>
      <Field label="Credits">
        {(control) => <Input {...control} name="amount" type="number" min={1} step={1} required autoFocus />}
      </Field>
      <Field label="Reason" help="Shown in the account’s journal.">
        {(control) => <Input {...control} name="reason" maxLength={200} />}
      </Field>
      <Field label="Expire after" help="Leave empty for no end date.">
        {(control) => <Input {...control} name="expires" type="date" />}
      </Field>
    </FormDialog>
  );
}

function Plan({ isOpen, account: { accountId }, onClose, onDone }: OneProps) {
  const save = async (form: FormData) => {
    const next = textOf(form, "plan") === "pro" ? "pro" : "none";
    const until = next === "pro" ? endOf(textOf(form, "until")) : null;
    await manage.send("setPlan", { params: { accountId }, body: { plan: next, until } });
    toast("Plan changed");
    await onDone();
  };
  return (
    <FormDialog isOpen={isOpen} onClose={onClose} title="Change plan" submit="Change plan" onSubmit={save}>
      <Field label="Plan" help="Without a plan, an account can view prompts but not run them.">
        {(control) => (
          <Select {...control} name="plan" defaultValue="pro">
            <option value="pro">pro</option>
            <option value="none">none</option>
          </Select>
        )}
      </Field>
      <Field label="Ends after" help="Leave empty for no end date.">
        {(control) => <Input {...control} name="until" type="date" />}
      </Field>
    </FormDialog>
  );
}

function Freeze({
  isOpen,
  isFrozen,
  account: { accountId },
  onClose,
  onDone,
}: OneProps & { readonly isFrozen: boolean }) {
  const save = async (form: FormData) => {
    await manage.send("freezeAccount", { params: { accountId }, body: { isFrozen, reason: textOf(form, "reason") } });
    toast(isFrozen ? "Account frozen" : "Account unfrozen");
    await onDone();
  };
  return (
    <FormDialog
      isOpen={isOpen}
      onClose={onClose}
      title={isFrozen ? "Freeze this account?" : "Unfreeze this account?"}
      description={
        isFrozen
          ? "It cannot start runs that cost credits. Runs in progress finish normally."
          : "It can start runs again."
      }
      submit={isFrozen ? "Freeze account" : "Unfreeze account"}
      isDanger={isFrozen}
      onSubmit={save}
    >
      <Field label="Reason" help="Recorded permanently.">
        {(control) => <Input {...control} name="reason" maxLength={200} required autoFocus />}
      </Field>
    </FormDialog>
  );
}
