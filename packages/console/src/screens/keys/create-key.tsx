import type { CreatedKey } from "@promptd/contract/manage";
import { manage } from "../../api.ts";
import { FormDialog } from "../../components/form-dialog.tsx";
import { DaysField, Field, Input } from "../../components/ui/field.tsx";
import { textOf } from "../../sign-in.ts";

interface CreateKeyProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onCreated: (key: CreatedKey) => void;
}

const DAY_MS = 86_400_000;

export function CreateKey({ isOpen, onClose, onCreated }: CreateKeyProps) {
  const create = async (form: FormData) => {
    const [days, cap] = [Number(textOf(form, "days")), textOf(form, "cap")];
    const expiresAt = days === 0 ? null : new Date(Date.now() + days * DAY_MS).toISOString();
    const monthlyCap = cap === "" ? null : Number(cap);
    onCreated(await manage.send("createKey", { body: { name: textOf(form, "name"), expiresAt, monthlyCap } }));
  };
  return (
    <FormDialog isOpen={isOpen} onClose={onClose} title="Create key" submit="Create key" onSubmit={create}>
      <Field label="Name" help="Where it will be used, such as shop-backend.">
        {(control) => <Input {...control} name="name" required maxLength={100} autoFocus />}
      </Field>
      <DaysField label="Expires" choices={[0, 30, 90, 365]} defaultDays={0} />
      <Field label="Monthly cap" help="In credits. Leave empty for no cap.">
        {(control) => <Input {...control} name="cap" type="number" min={1} step={1} />}
      </Field>
    </FormDialog>
  );
}
