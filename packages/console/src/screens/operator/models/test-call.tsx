/** Tests whether a model responds, with one small call. */
import type { ManagedModel, ModelTest } from "@promptd/contract/manage";
import { Zap } from "lucide-react";
import { useState } from "react";
import { manage } from "../../../api.ts";
import { Facts } from "../../../components/facts.tsx";
import { formatDuration, formatWhole } from "../../../components/format.ts";
import { Status } from "../../../components/ui/badge.tsx";
import { Button } from "../../../components/ui/button.tsx";
import { Dialog } from "../../../components/ui/dialog.tsx";
import { FaultNote } from "../../../components/fault-note.tsx";
import { useAction } from "../../../components/use-action.ts";
import { causeWords } from "../cause-words.ts";

interface TestCallProps {
  readonly row: Pick<ManagedModel, "model" | "modality" | "isOff">;
  /** Quiet in a table, where phones show only its icon. */
  readonly tone: "plain" | "quiet";
}

/** Nothing for a video, which would take minutes and cost much, or for a model that is off. */
export function TestCall({ row: { model, modality, isOff }, tone }: TestCallProps) {
  const [isOpen, setOpen] = useState(false);
  if (modality === "video" || isOff) return null;
  const close = () => setOpen(false);
  return (
    <>
      <Button small tone={tone} aria-label={`Test ${model}`} onClick={() => setOpen(true)}>
        {tone === "quiet" ? <Zap aria-hidden className="size-3.5 sm:hidden" strokeWidth={1.75} /> : null}
        <span className={tone === "quiet" ? "max-sm:hidden" : undefined}>Test</span>
      </Button>
      <Dialog
        open={isOpen}
        onClose={close}
        title={`Test ${model}`}
        description="Makes one small call, as a run would, but without retries. The provider bills this installation; no account is charged."
      >
        <Call model={model} onClose={close} />
      </Dialog>
    </>
  );
}

/** Mounted only while the dialog is open, so that a late response is dropped with it. */
function Call({ model, onClose }: { readonly model: string; readonly onClose: () => void }) {
  const [result, setResult] = useState<ModelTest | null>(null);
  const action = useAction();
  const call = () => action.run(async () => setResult(await manage.send("testModel", { body: { model } })));
  return (
    <>
      <FaultNote fault={action.fault} />
      <div aria-live="polite">{action.isBusy || result === null ? null : <Result result={result} />}</div>
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={onClose}>Close</Button>
        <Button tone="main" disabled={action.isBusy} onClick={() => void call()}>
          {action.isBusy ? "Calling" : result === null ? "Make call" : "Call again"}
        </Button>
      </div>
    </>
  );
}

function Result({ result }: { readonly result: ModelTest }) {
  const { isAnswered, tookMs, costCredits, cause, httpStatus, providerCode, text, pictureBytes } = result;
  const details = [httpStatus, providerCode].filter((one) => one !== null).join(" ");
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
      <Status tone={isAnswered ? "ok" : "bad"}>
        {isAnswered
          ? "The model responded"
          : `${causeWords(cause ?? "unknown")}${details === "" ? "" : ` (${details})`}`}
      </Status>
      <Facts
        facts={[
          { label: "Time", value: formatDuration(tookMs) },
          // A failed call reports no usage, which is not the same as no cost.
          ...(isAnswered || costCredits > 0 ? [{ label: "Cost", value: costWords(costCredits) }] : []),
          ...(pictureBytes === null
            ? []
            : [{ label: "Response", value: `An image of ${formatWhole(pictureBytes)} bytes` }]),
          ...(text === null ? [] : [{ label: "Response", value: text }]),
        ]}
      />
    </div>
  );
}

/** Often far below one credit. */
function costWords(credits: number): string {
  if (credits === 0) return "free at catalogue prices";
  const shown = credits.toLocaleString("en", { maximumSignificantDigits: 2 });
  return `${shown} credits, at catalogue prices`;
}
