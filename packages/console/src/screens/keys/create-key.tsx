import type { CreatedKey } from "@promptd/contract/manage";
import { isMissing, manage } from "../../api.ts";
import { FormDialog } from "../../components/form-dialog.tsx";
import { DaysField, Field, Input, TextArea } from "../../components/ui/field.tsx";
import { textOf } from "../../sign-in.ts";

interface CreateKeyProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onCreated: (key: CreatedKey) => void;
}

const DAY_MS = 86_400_000;

const slugsIn = (text: string) => [...new Set(text.split(/[\s,]+/).filter((slug) => slug !== ""))];

/** A key stays bound to its prompts even if their slugs change. @throws Error when no prompt has the slug. */
async function idOf(slug: string): Promise<string> {
  try {
    return (await manage.send("getMarketplacePrompt", { params: { slug } })).promptId;
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new Error(`The marketplace has no prompt “${slug}”. A slug is the last part of a prompt’s address.`, {
      cause: error,
    });
  }
}

export function CreateKey({ isOpen, onClose, onCreated }: CreateKeyProps) {
  const create = async (form: FormData) => {
    const [days, cap] = [Number(textOf(form, "days")), textOf(form, "cap")];
    const expiresAt = days === 0 ? null : new Date(Date.now() + days * DAY_MS).toISOString();
    const monthlyCap = cap === "" ? null : Number(cap);
    const ids = await Promise.all(slugsIn(textOf(form, "prompts")).map(idOf));
    const promptIds = ids.length === 0 ? null : ids;
    onCreated(
      await manage.send("createKey", { body: { name: textOf(form, "name"), expiresAt, monthlyCap, promptIds } }),
    );
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
      <Field
        label="Prompts"
        help="The slugs of the only prompts it can run, one per line. Leave empty to allow all prompts."
      >
        {(control) => <TextArea {...control} name="prompts" spellCheck={false} />}
      </Field>
    </FormDialog>
  );
}
