import { Tooltip as Base } from "@base-ui/react/tooltip";
import type { ReactElement, ReactNode } from "react";

interface TooltipProps {
  readonly content: ReactNode;
  /** The element it explains. It needs its own accessible name, because not everyone gets to read a tooltip. */
  readonly children: ReactElement<Record<string, unknown>>;
}

export function Tooltip({ content, children }: TooltipProps) {
  return (
    <Base.Root>
      <Base.Trigger delay={300} render={children} />
      <Base.Portal>
        <Base.Positioner sideOffset={6} className="z-30">
          <Base.Popup className="max-w-72 rounded-1 bg-ink px-2 py-[3px] text-12 text-bg">{content}</Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
