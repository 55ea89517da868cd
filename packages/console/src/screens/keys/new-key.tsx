import type { CreatedKey } from "@promptd/contract/manage";
import { CopyButton } from "../../components/copy-button.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Panel } from "../../components/ui/panel.tsx";

interface NewKeyProps {
  readonly created: CreatedKey;
  readonly onDone: () => void;
}

/** The whole key, for the only time, with a first request that works as it stands. */
export function NewKey({ created: { name, apiKey }, onDone }: NewKeyProps) {
  const request = `curl -s ${location.origin}/v1/me -H 'Authorization: Bearer ${apiKey}'`;
  return (
    <Panel
      title={`“${name}” is ready`}
      aside="copy it now; it is not shown again"
      acts={
        <Button small onClick={onDone}>
          I have copied it
        </Button>
      }
    >
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
        <div className="flex items-center gap-2 rounded-2 border border-edge py-1 pr-1 pl-3">
          <code className="min-w-0 flex-1 font-medium [overflow-wrap:anywhere]">{apiKey}</code>
          <CopyButton text={apiKey} label="Copy key" />
        </div>
        <div className="grid gap-1">
          <div className="flex items-center justify-between gap-2">
            <p className="text-dim">A first request with it</p>
            <CopyButton text={request} label="Copy request" />
          </div>
          <pre
            tabIndex={0}
            aria-label="First request"
            className="overflow-x-auto rounded-2 bg-sunk p-3 font-mono text-[12.5px] leading-5"
          >
            {request}
          </pre>
        </div>
      </div>
    </Panel>
  );
}
