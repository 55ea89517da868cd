import type { ManagedModel, ModelSwitchBody } from "@promptd/contract/manage";
import { useQueryClient } from "@tanstack/react-query";
import { Power, PowerOff } from "lucide-react";
import { useState } from "react";
import { manage, modelsQuery } from "../../../api.ts";
import { FormDialog } from "../../../components/form-dialog.tsx";
import { runWithToast } from "../../../components/run-with-toast.ts";
import { Button } from "../../../components/ui/button.tsx";
import { toast } from "../../../components/ui/toast.tsx";

interface ModelSwitchProps {
  readonly row: Pick<ManagedModel, "model" | "isOff">;
  /** Quiet in a table, where phones show only its icon. */
  readonly tone: "plain" | "quiet";
}

/** Switches a model off for everyone after asking, and on again at once. */
export function ModelSwitch({ row: { model, isOff }, tone }: ModelSwitchProps) {
  const queries = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const change = async (body: ModelSwitchBody) => {
    await manage.send("switchModel", { body });
    await queries.invalidateQueries({ queryKey: modelsQuery.queryKey });
  };
  if (isOff) {
    const switchOn = () => void runWithToast(() => change({ model, isOff: false }), `${model} switched on`);
    return (
      <Button small aria-label={`Switch on ${model}`} onClick={switchOn}>
        {tone === "quiet" ? <Power aria-hidden className="size-3.5 sm:hidden" strokeWidth={1.75} /> : null}
        <span className={tone === "quiet" ? "max-sm:hidden" : undefined}>Switch on</span>
      </Button>
    );
  }
  return (
    <>
      <Button small tone={tone} aria-label={`Switch off ${model}`} onClick={() => setAsking(true)}>
        {tone === "quiet" ? <PowerOff aria-hidden className="size-3.5 sm:hidden" strokeWidth={1.75} /> : null}
        <span className={tone === "quiet" ? "max-sm:hidden" : undefined}>Switch off</span>
      </Button>
      <FormDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={`Switch off ${model}?`}
        description="This takes effect for everyone within five seconds. Runs of this model fail without a charge or use their prompt’s fallbacks. Prompts that use a role switch to the role’s next model. You can switch the model on again at any time."
        submit="Switch off"
        isDanger
        onSubmit={async () => {
          await change({ model, isOff: true });
          toast(`${model} switched off`);
        }}
      />
    </>
  );
}
