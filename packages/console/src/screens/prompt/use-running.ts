import { PromptdError, randomKey } from "@promptd/client/manage";
import type { CreateRunBody, PromptConfig } from "@promptd/contract";
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { createRun, creditsQuery, faultOf, sessionQuery, type Fault } from "../../api.ts";
import { checkForm, type FormFaults, type FormState } from "../../components/prompt/prompt-form.ts";
import { useMounted } from "../../components/use-action.ts";

interface Running {
  readonly body: CreateRunBody;
  readonly config: PromptConfig;
  readonly form: FormState;
  readonly onCreated: (runId: string) => void;
}

/** Checks the form and sends it as a run, once, however often the button is pressed. */
export function useRunning({ body, config, form, onCreated }: Running) {
  const queries = useQueryClient();
  const isMounted = useMounted();
  const [isSending, setSending] = useState(false);
  const [failure, setFailure] = useState<Fault | null>(null);
  const [faults, setFaults] = useState<FormFaults>({});
  /** Unchanged until a run is created or the form changes, so that a lost response does not cause a second run. */
  const key = useRef<string | null>(null);

  const send = async () => {
    setSending(true);
    setFailure(null);
    key.current ??= randomKey();
    try {
      const runId = await createRun(body, key.current);
      key.current = null;
      if (isMounted()) onCreated(runId);
    } catch (error) {
      setFaults(faultsOf(error));
      setFailure(faultOf(error));
    } finally {
      setSending(false);
      // Also after a refusal, because an operator may have granted credits or a plan meanwhile.
      for (const { queryKey } of [creditsQuery, sessionQuery]) void queries.invalidateQueries({ queryKey });
    }
  };
  const start = async () => {
    if (isSending) return;
    const found = checkForm(config, form);
    setFaults(found);
    if (Object.keys(found).length === 0) await send();
    else setFailure(faultOf(new Error("Nothing was sent. Correct the marked fields.")));
  };
  const forget = () => {
    key.current = null;
    if (failure !== null) setFailure(null);
    if (Object.keys(faults).length > 0) setFaults({});
  };
  return { start, forget, isSending, failure, faults };
}

/** Maps the server's issues to their fields. */
function faultsOf(error: unknown): FormFaults {
  if (!(error instanceof PromptdError)) return {};
  const faults: Record<string, string> = {};
  for (const { path, message } of error.issues) {
    const [, , group, name] = path;
    if (group === "textInputs") faults[String(name)] = message;
    if (group === "imageInputs") faults[`image-${String(name)}`] = message;
  }
  return faults;
}
