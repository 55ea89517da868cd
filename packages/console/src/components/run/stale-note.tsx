import type { ManagedRun } from "@promptd/contract/manage";
import type { UseQueryResult } from "@tanstack/react-query";
import { faultOf, isFinal, mayPass } from "../../api.ts";
import { FaultNote } from "../fault-note.tsx";

/** Shown above a run whose latest state could not be read. */
export function StaleNote({ query }: { readonly query: UseQueryResult<ManagedRun> }) {
  if (!query.isRefetchError || isFinal(query.data.runStatus)) return null;
  if (!mayPass(query.error)) return <FaultNote fault={faultOf(query.error)} title="The run could not be refreshed." />;
  return (
    <p role="status" className="rounded-2 bg-warn-soft px-3 py-2 text-warn">
      The server cannot be reached. The run continues, and this page updates when the server is reachable again.
    </p>
  );
}
