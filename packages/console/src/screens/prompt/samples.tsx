import type { PromptConfig, PromptSamples } from "@promptd/contract";
import { Facts } from "../../components/facts.tsx";
import { OutputView } from "../../components/run/output-view.tsx";
import { Panel } from "../../components/ui/panel.tsx";

interface SamplesProps {
  readonly samples: PromptSamples;
  readonly config: PromptConfig;
}

/** What the author shows of it: inputs, and what came out. */
export function Samples({ samples: { inputs, outputs }, config }: SamplesProps) {
  const texts = Object.entries(inputs.textInputs).map(([name, value]) => ({
    label: config.textInputs[name]?.label ?? name,
    value,
  }));
  if (texts.length === 0 && outputs.length === 0) return null;
  return (
    <Panel title={outputs.length === 0 ? "Example inputs" : "What it makes"} aside="the author’s sample">
      <div className="grid gap-4">
        {texts.length === 0 ? null : <Facts facts={texts} />}
        {outputs.length === 0 ? null : (
          <div className="max-h-80 overflow-y-auto border-t border-line pt-4 [&_img]:max-h-60 [&_video]:max-h-60">
            <OutputView outputs={outputs} />
          </div>
        )}
      </div>
    </Panel>
  );
}
