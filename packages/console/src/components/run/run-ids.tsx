import type { ManagedRunRow, NamesOfRun } from "@promptd/contract/manage";
import { CopyIcon } from "../copy-button.tsx";
import { Facts } from "../facts.tsx";

interface RunIdsProps {
  readonly run: Pick<ManagedRunRow, "runId" | "requestId" | "promptVersionId" | "keyId" | "batch" | "isTest"> &
    NamesOfRun;
  /** Shown to operators only. */
  readonly accountId?: string;
}

interface Id {
  readonly label: string;
  readonly id: string | null;
  /** The display name; null if there is only the id. */
  readonly name: string | null;
}

/** Shows names where they exist. Hover for the id, or press the button to copy it. */
export function RunIds({ run, accountId = "" }: RunIdsProps) {
  const { runId, requestId, promptVersionId, keyId, batch, isTest, version, keyName } = run;
  const ids: readonly Id[] = [
    { label: "Version", id: promptVersionId, name: isTest || version === null ? "Draft" : String(version) },
    { label: "Key", id: keyId, name: keyName },
    { label: "Batch", id: batch?.batchId ?? null, name: batch?.name ?? null },
    { label: "Run", id: runId, name: null },
    { label: "Request", id: requestId, name: null },
    { label: "Account", id: accountId === "" ? null : accountId, name: null },
  ];
  return (
    <Facts
      facts={ids.flatMap(({ label, id, name }) =>
        id === null ? [] : [{ label, value: <Value label={label} id={id} name={name} /> }],
      )}
    />
  );
}

function Value({ label, id, name }: Id & { readonly id: string }) {
  return (
    <span className="flex items-start gap-1">
      {name === null ? <code className="min-w-0 text-12 leading-5!">{id}</code> : <span title={id}>{name}</span>}
      <CopyIcon text={id} label={`Copy the ${label.toLowerCase()} ID`} />
    </span>
  );
}
