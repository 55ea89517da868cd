import type { CreatedKey } from "@promptd/contract/manage";
import { nameIn } from "../../components/format.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { OneTimeSecret } from "../../components/one-time-secret.tsx";

interface NewKeyProps {
  readonly created: CreatedKey;
  readonly onDone: () => void;
}

/** Shows the full key, this one time, with a first request that works as it is. */
export function NewKey({ created: { name, apiKey }, onDone }: NewKeyProps) {
  const request = `curl -s ${location.origin}/v1/me -H 'Authorization: Bearer ${apiKey}'`;
  return (
    <OneTimeSecret title={`“${nameIn(name)}” is ready`} secret={apiKey} copyLabel="Copy key" onDone={onDone}>
      <div className="grid gap-1">
        <div className="flex items-center justify-between gap-2">
          <p className="text-dim">Try a first request</p>
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
    </OneTimeSecret>
  );
}
