import type { CreatedKey } from "@promptd/contract/manage";
import { useState, type FormEvent } from "react";
import { faultOf, manage, type Fault } from "../../api.ts";
import { Button } from "../../components/ui/button.tsx";
import { Dialog } from "../../components/ui/dialog.tsx";
import { Failure } from "../../components/ui/empty.tsx";
import { Field, Input, Select } from "../../components/ui/field.tsx";
import { textOf } from "../../sign-in.ts";

interface CreateKeyProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onCreated: (key: CreatedKey) => void;
}

const DAY_MS = 86_400_000;

export function CreateKey({ isOpen, onClose, onCreated }: CreateKeyProps) {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<Fault | null>(null);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const [days, cap] = [Number(textOf(form, "days")), textOf(form, "cap")];
    setBusy(true);
    setFault(null);
    try {
      const expiresAt = days === 0 ? null : new Date(Date.now() + days * DAY_MS).toISOString();
      const monthlyCap = cap === "" ? null : Number(cap);
      onCreated(await manage.send("createKey", { body: { name: textOf(form, "name"), expiresAt, monthlyCap } }));
    } catch (error) {
      setFault(faultOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog open={isOpen} onClose={onClose} title="Create key">
      <form className="grid gap-4" onSubmit={(event) => void submit(event)}>
        {fault === null ? null : <Failure title={fault.message} requestId={fault.requestId} />}
        <Field label="Name" help="Where it will be used, such as shop-backend.">
          {(control) => <Input {...control} name="name" required maxLength={100} autoFocus />}
        </Field>
        <Field label="Expires">
          {(control) => (
            <Select {...control} name="days" defaultValue="0">
              <option value="0">Never</option>
              <option value="30">In 30 days</option>
              <option value="90">In 90 days</option>
              <option value="365">In a year</option>
            </Select>
          )}
        </Field>
        <Field label="Monthly cap" help="Credits; empty means no cap.">
          {(control) => <Input {...control} name="cap" type="number" min={1} step={1} />}
        </Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="main" disabled={isBusy}>
            {isBusy ? "Creating" : "Create key"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
