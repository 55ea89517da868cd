import type { ManageHandlers } from "../http/endpoint.ts";
import { readMailState } from "../people/index.ts";
import { unknownCursor } from "../platform/database/pages.ts";
import { notFound } from "../platform/problem.ts";
import { VERSION } from "../platform/version.ts";
import { findManagedRun, listManagedRuns } from "./read/managed-runs-store.ts";
import { readSystem } from "./read/system-store.ts";
import { runsRoutes, type RunsRoutesOptions } from "./runs-routes.ts";

import { testRunsManageRoutes } from "./test-runs-manage-routes.ts";

export { runsRoutes, type RunsRoutesOptions };

type RunsManageHandlers = Pick<
  ManageHandlers,
  "createRun" | "listRuns" | "getRun" | "followRun" | "cancelRun" | "getSystem" | "createTestRun" | "getTestRun"
>;

/** What creates, follows and cancels a run is the same as under /v1; what is read is more. */
export function runsManageRoutes(options: RunsRoutesOptions): RunsManageHandlers {
  const { db } = options;
  const { createRun, followRun, cancelRun } = runsRoutes(options);
  return {
    createRun,
    followRun,
    cancelRun,
    ...testRunsManageRoutes(options),
    listRuns: async ({ query }, { caller }) => {
      const page = await listManagedRuns(db, caller.accountId, query);
      if (page === null) throw unknownCursor(query, "run");
      return { data: page };
    },
    getRun: async ({ params: { runId } }, { caller }) => {
      const run = await findManagedRun(db, caller.accountId, runId);
      if (run === null) throw notFound("run", runId);
      return { data: run };
    },
    getSystem: async () => ({ data: { version: VERSION, mail: await readMailState(db), ...(await readSystem(db)) } }),
  };
}
