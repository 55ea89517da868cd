import { ActionForm } from "../../components/action-form.tsx";
import { Field, Input } from "../../components/ui/field.tsx";
import { Panel } from "../../components/ui/panel.tsx";
import { toast } from "../../components/ui/toast.tsx";
import { useAction } from "../../components/use-action.ts";
import { textOf } from "../../sign-in.ts";

interface NameFormProps {
  readonly title: string;
  readonly label: string;
  /** Says who sees the name. */
  readonly help: string;
  /** The current name. */
  readonly name: string;
  readonly autoComplete?: "name";
  readonly onSave: (name: string) => Promise<unknown>;
}

/** Changes the name of a person or an account. */
export function NameForm({ title, label, help, name, autoComplete, onSave }: NameFormProps) {
  const action = useAction();
  const save = (form: FormData) =>
    action.run(async () => {
      await onSave(textOf(form, "name"));
      toast("Name saved");
    });
  return (
    <Panel title={title}>
      <div className="max-w-[400px]">
        <ActionForm action={action} submit="Save" onSubmit={save}>
          <Field label={label} help={help}>
            {(control) => (
              <Input
                {...control}
                name="name"
                defaultValue={name}
                maxLength={100}
                required
                autoComplete={autoComplete}
              />
            )}
          </Field>
        </ActionForm>
      </div>
    </Panel>
  );
}
