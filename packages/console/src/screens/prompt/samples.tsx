import type { PromptConfig, PromptSamples } from "@promptd/contract";
import type { ReactNode } from "react";
import { Facts } from "../../components/facts.tsx";
import { OutputView } from "../../components/run/output-view.tsx";
import { Panel } from "../../components/ui/panel.tsx";
import { cx } from "../../components/ui/class-names.ts";

interface SamplesProps {
  readonly samples: PromptSamples;
  readonly config: PromptConfig;
  /** The next step, when the sample takes the place of a result. */
  readonly foot?: ReactNode;
}

/** The author's sample: inputs and their outputs. */
export function Samples({ samples: { inputs, outputs }, config, foot }: SamplesProps) {
  const texts = Object.entries(inputs.textInputs).map(([name, value]) => ({
    label: config.textInputs[name]?.label ?? name,
    value,
  }));
  if (texts.length === 0 && outputs.length === 0) return null;
  const room =
    foot === undefined
      ? "max-h-80 [&_img]:max-h-60 [&_video]:max-h-60"
      : "max-h-[70vh] [&_img]:max-h-96 [&_video]:max-h-96";
  return (
    <Panel title={outputs.length === 0 ? "Example inputs" : "The author’s sample"} foot={foot}>
      <div className="grid gap-4">
        {texts.length === 0 ? null : <Facts facts={texts} />}
        {outputs.length === 0 ? null : (
          <div className={cx("overflow-y-auto", room, texts.length > 0 && "border-t border-line pt-4")}>
            <OutputView outputs={outputs} alt="The author’s sample" />
          </div>
        )}
      </div>
    </Panel>
  );
}
