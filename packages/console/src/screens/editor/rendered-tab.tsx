/** Shows the exact messages that a model would receive, without calling it. */
import { orderedInputs, type PromptConfig } from "@promptd/contract";
import type { PromptPreview } from "@promptd/contract/manage";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { previewQuery } from "../../api.ts";
import { PromptFields } from "../../components/prompt/prompt-fields.tsx";
import { bodyOf, type FormState } from "../../components/prompt/prompt-form.ts";
import { QueryFailure } from "../../components/query-states.tsx";
import { TextShape } from "../../components/run/output-view.tsx";
import { fitForm, type DraftTabProps, type Trial } from "./test-run.ts";

const PREVIEW_MS = 350;

interface RenderedTabProps extends Pick<DraftTabProps, "draft" | "checked"> {
  readonly trial: Trial;
}

export function RenderedTab({ draft, checked, trial }: RenderedTabProps) {
  const { config, prompt } = checked;
  if (config === null || (prompt === null && checked.faults.length > 0)) {
    return (
      <p className="p-4 text-dim">
        The rendered text appears when the file has no faults. Faults are listed below the file.
      </p>
    );
  }
  const withoutImages: PromptConfig = { ...config, imageInputs: [], imageCount: 0 };
  const form = fitForm(trial.form, withoutImages);
  return (
    <div className="grid grid-cols-[minmax(0,1fr)]">
      {orderedInputs(config).length === 0 ? null : (
        <div className="border-b border-line p-4">
          <PromptFields
            config={withoutImages}
            form={form}
            faults={{}}
            onChange={(next) => trial.setForm({ ...next, images: trial.form.images })}
          />
        </div>
      )}
      <Rendered source={draft.source} form={form} config={withoutImages} />
    </div>
  );
}

interface RenderedProps {
  readonly source: string;
  readonly form: FormState;
  readonly config: PromptConfig;
}

function Rendered({ source, form, config }: RenderedProps) {
  const { inputs, runOptions } = bodyOf("", config, form);
  const wanted = JSON.stringify({ source, textInputs: inputs?.textInputs ?? {}, runOptions: runOptions ?? {} });
  const [requested, setRequested] = useState(wanted);
  useEffect(() => {
    const timer = setTimeout(() => setRequested(wanted), PREVIEW_MS);
    return () => clearTimeout(timer);
  }, [wanted]);
  const body = JSON.parse(requested) as Parameters<typeof previewQuery>[0];
  const preview = useQuery({ ...previewQuery(body), placeholderData: keepPreviousData });
  return (
    <div className="p-4">
      {preview.isError ? (
        <QueryFailure what="The rendered text" query={preview} />
      ) : preview.data === undefined ? (
        <TextShape />
      ) : (
        <Messages preview={preview.data} />
      )}
    </div>
  );
}

function Messages({ preview: { steps, issues, ignored } }: { readonly preview: PromptPreview }) {
  if (issues.length > 0) {
    return (
      <div className="grid gap-1 text-dim">
        <p>A run with these inputs would be rejected:</p>
        <ul className="grid list-disc gap-1 pl-5">
          {/* One message may cover several inputs, each with its own issue. */}
          {[...new Set(issues.map(({ message }) => message))].map((message) => (
            <li key={message}>{message}</li>
          ))}
        </ul>
      </div>
    );
  }
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
      {steps.map((step) => (
        <div key={step.id} className="grid grid-cols-[minmax(0,1fr)] gap-3">
          <p className="flex flex-wrap gap-x-4 text-12 text-dim">
            {steps.length > 1 ? <span>step {step.id}</span> : null}
            <code>{step.model}</code>
            {Object.entries(step.options).map(([name, value]) => (
              <span key={name}>
                {name} {value}
              </span>
            ))}
            {step.maxOutputTokens === null ? null : <span>at most {step.maxOutputTokens} tokens</span>}
          </p>
          {step.messages.map(({ role, text, images }, index) => (
            <div key={index} className="grid grid-cols-[minmax(0,1fr)] gap-1">
              <p className="text-12 text-dim">{role}</p>
              <pre
                tabIndex={0}
                aria-label={`Message of ${role}`}
                className="overflow-x-auto rounded-2 bg-sunk p-3 font-mono text-[12.5px] leading-5 whitespace-pre-wrap [overflow-wrap:anywhere]"
              >
                {text}
              </pre>
              {images.length === 0 ? null : <p className="text-12 text-dim">with {images.join(", ")}</p>}
            </div>
          ))}
        </div>
      ))}
      {ignored.length === 0 ? null : <p className="text-12 text-dim">No effect: {ignored.join(", ")}</p>}
    </div>
  );
}
