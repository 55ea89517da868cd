/** What a prompt looks like on its card: its own sample, or a drawing made from its id. */
import type { PromptSamples } from "@promptd/contract";
import { useState } from "react";
import { DrawnCover } from "./drawn-cover.tsx";

interface CoverProps {
  readonly promptId: string;
  readonly modality: "text" | "image" | "video";
  readonly samples: PromptSamples;
}

const FRAME = "relative aspect-[16/10] overflow-hidden rounded-3 bg-sunk ring-1 ring-inset ring-line";

export function Cover({ promptId, modality, samples }: CoverProps) {
  const [isBroken, setBroken] = useState(false);
  const sample = samples.outputs.find(({ type }) => type === modality);
  if (sample !== undefined && modality === "image" && !isBroken) {
    return (
      <div className={FRAME}>
        <img
          src={sample.data}
          alt=""
          loading="lazy"
          onError={() => setBroken(true)}
          className="size-full object-cover"
        />
      </div>
    );
  }
  if (sample !== undefined && modality === "video" && !isBroken) {
    return (
      <div className={FRAME}>
        <video
          src={`${sample.data}#t=0.1`}
          muted
          playsInline
          preload="metadata"
          onError={() => setBroken(true)}
          className="size-full object-cover"
        />
      </div>
    );
  }
  if (sample !== undefined && modality === "text") return <TextCover text={sample.data} />;
  return (
    <div className={FRAME}>
      <DrawnCover seed={promptId} isVideo={modality === "video"} />
    </div>
  );
}

const LINES_MAX = 8;

/** The first lines of a text sample, without Markdown syntax. */
function TextCover({ text }: { readonly text: string }) {
  const lines = text
    .split("\n")
    .map((line) =>
      line
        .replace(/^[#>\s*-]+/, "")
        .replaceAll(/[*_`]/g, "")
        .trim(),
    )
    .filter((line) => line !== "" && !/^[|:=-]+$/.test(line))
    .slice(0, LINES_MAX);
  const [first = "", ...rest] = lines;
  const hasTitle = first.length <= 60 && rest.length > 0;
  return (
    <div className="relative aspect-[16/10] overflow-hidden rounded-3 border border-line bg-panel px-5 pt-4 text-13 leading-[21px] [mask-image:linear-gradient(#000_60%,#0003)]">
      {hasTitle ? <p className="mb-0.5 line-clamp-2 font-semibold">{first}</p> : null}
      {(hasTitle ? rest : lines).map((line, index) => (
        <p key={index} className="[overflow-wrap:anywhere]">
          {line}
        </p>
      ))}
    </div>
  );
}
