import type { ManagedRun } from "@promptd/contract/manage";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { manage, ownPromptQuery } from "../../api.ts";
import { runWithToast } from "../run-with-toast.ts";
import { FormDialog } from "../form-dialog.tsx";
import { Button } from "../ui/button.tsx";
import { toast } from "../ui/toast.tsx";

interface SampleActionProps {
  readonly run: ManagedRun;
  readonly small?: boolean;
}

const KINDS = { text: "text", image: "picture", video: "video", error: "" } as const;

/** Lets the author use this run as the prompt's sample in the marketplace. Renders nothing if that is not possible. */
export function SampleAction({ run, small = false }: SampleActionProps) {
  const { isOwnPrompt, runStatus, outputs } = run;
  const shown = outputs.findLast(({ type }) => type !== "error");
  if (!isOwnPrompt || runStatus !== "succeeded" || shown === undefined) return null;
  return <Action run={run} small={small} what={KINDS[shown.type]} />;
}

function Action({
  run: { promptId, runId, inputs, model },
  small,
  what,
}: Required<SampleActionProps> & { readonly what: string }) {
  const queries = useQueryClient();
  const { data: prompt } = useQuery(ownPromptQuery(promptId));
  const [isAsking, setAsking] = useState(false);
  if (prompt === undefined) return null;
  const params = { promptId };
  const change = async (work: Promise<unknown>) => {
    await work;
    await Promise.all(
      [ownPromptQuery(promptId).queryKey, ["prompt"], ["marketplace"]].map((queryKey) =>
        queries.invalidateQueries({ queryKey }),
      ),
    );
  };
  if (prompt.sample?.runId === runId) {
    const remove = () => runWithToast(() => change(manage.send("deletePromptSample", { params })), "Sample removed");
    return (
      <Button small={small} onClick={() => void remove()}>
        Remove as sample
      </Button>
    );
  }
  return (
    <>
      <Button small={small} onClick={() => setAsking(true)}>
        Use as sample
      </Button>
      <FormDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title="Use this run as the sample?"
        description={`Everyone who can see the prompt will see this run’s ${what} and text inputs${
          inputs.images === 0 ? "" : ", but not its input images"
        }. The sample stays after the run’s files expire.${prompt.sample === null ? "" : " It replaces the current sample."}${
          model.startsWith("sandbox/") ? ` The ${what} was made by the built-in sandbox, not by an AI model.` : ""
        }`}
        submit="Use as sample"
        onSubmit={async () => {
          await change(manage.send("setPromptSample", { params, body: { runId } }));
          toast("Sample updated");
        }}
      />
    </>
  );
}
