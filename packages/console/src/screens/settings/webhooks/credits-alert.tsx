import { useQuery, useQueryClient } from "@tanstack/react-query";
import { manage } from "../../../api.ts";
import { ActionForm } from "../../../components/action-form.tsx";
import { formatCredits } from "../../../components/format.ts";
import { QueryFailure, RowShapes } from "../../../components/query-states.tsx";
import { Field, Input } from "../../../components/ui/field.tsx";
import { Panel } from "../../../components/ui/panel.tsx";
import { toast } from "../../../components/ui/toast.tsx";
import { useAction } from "../../../components/use-action.ts";
import { textOf } from "../../../sign-in.ts";
import { creditsAlertQuery } from "./queries.ts";

/** Sets the threshold below which credits.low is sent. */
export function CreditsAlertPanel({ isOwner }: { readonly isOwner: boolean }) {
  const alert = useQuery(creditsAlertQuery);
  const queries = useQueryClient();
  const action = useAction();
  if (alert.isLoadingError) return <QueryFailure what="The credit threshold" query={alert} />;
  if (alert.data === undefined) return <RowShapes what="the threshold" title="Low credits" rows={2} />;
  const { below, isLow } = alert.data;
  const save = (form: FormData) =>
    action.run(async () => {
      const text = textOf(form, "below").trim();
      const saved = await manage.send("setCreditsAlert", { body: { below: text === "" ? null : Number(text) } });
      queries.setQueryData(creditsAlertQuery.queryKey, saved);
      toast(saved.below === null ? "Threshold removed" : `Threshold set to ${formatCredits(saved.below)}`);
    });
  return (
    <Panel title="Low credits" aside={isLow ? "currently below the threshold" : undefined}>
      {isOwner ? (
        <ActionForm action={action} submit="Save threshold" onSubmit={save}>
          <div className="max-w-md">
            <Field
              label="Threshold"
              help="promptd sends the event credits.low when fewer credits remain. Leave empty for no event."
            >
              {(control) => (
                <Input
                  {...control}
                  key={below}
                  name="below"
                  type="number"
                  min={1}
                  step={1}
                  defaultValue={below ?? ""}
                />
              )}
            </Field>
          </div>
        </ActionForm>
      ) : (
        <p className="text-dim">
          {below === null ? "No threshold is set." : `credits.low is sent below ${formatCredits(below)}.`}
        </p>
      )}
    </Panel>
  );
}
