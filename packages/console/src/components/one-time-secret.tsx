import { CopyButton } from "./copy-button.tsx";
import { Button } from "./ui/button.tsx";
import { Panel } from "./ui/panel.tsx";
import type { ReactNode } from "react";

interface OneTimeSecretProps {
  readonly title: string;
  /** The secret. It is never shown again. */
  readonly secret: string;
  readonly copyLabel: string;
  readonly onDone: () => void;
  readonly children?: ReactNode;
}

/** Shows a secret once, with a copy button. That button gets the focus when a dialog without an opener closes. */
export function OneTimeSecret({ title, secret, copyLabel, onDone, children }: OneTimeSecretProps) {
  return (
    <Panel
      title={title}
      aside="copy it now; it won’t be shown again"
      actions={
        <Button small onClick={onDone}>
          I’ve copied it
        </Button>
      }
    >
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
        <div data-made className="flex items-center gap-2 rounded-2 border border-edge py-1 pr-1 pl-3">
          <code className="min-w-0 flex-1 font-medium [overflow-wrap:anywhere]">{secret}</code>
          <CopyButton text={secret} label={copyLabel} />
        </div>
        {children}
      </div>
    </Panel>
  );
}
