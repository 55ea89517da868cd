import type { ManageHandlers } from "../http/endpoint.ts";
import { listLinkRequests, listOperatorsWithoutSignIn, readMailState } from "../people/index.ts";
import { orNotFound } from "../platform/problem.ts";
import { VERSION } from "../platform/version.ts";
import type { Clock } from "../platform/clock.ts";
import { quoteRun } from "./create/quote.ts";
import { exportRuns } from "./read/export-runs.ts";
import { findInstallationRun, listInstallationRuns } from "./read/installation-runs-store.ts";
import { listModelHealth } from "./read/model-health-store.ts";
import { findManagedRun, listManagedRuns } from "./read/managed-runs-store.ts";
import { readSystem } from "./read/system-store.ts";
import { runsRoutes, type RunsRoutesOptions } from "./runs-routes.ts";
import { samplesManageRoutes } from "./samples-manage-routes.ts";
import { testRunsManageRoutes } from "./test-runs-manage-routes.ts";

/** Creating, following, and canceling a run work as under /v1; reading shows more. */
export function runsManageRoutes(options: RunsRoutesOptions & { readonly clock: Clock }) {
  const { db } = options;
  const { createRun, followRun, cancelRun } = runsRoutes(options);
  return {
    createRun,
    // Admission has chosen the account from the query.
    followRun: ({ params, body }, context) => followRun({ params, body, query: {} }, context),
    cancelRun,
    ...testRunsManageRoutes(options),
    ...samplesManageRoutes(db, options.files.samples),
    listRuns: async ({ query }, { caller }) => ({ data: await listManagedRuns(db, caller.accountId, query) }),
    exportRuns: async ({ query }, { caller }) => exportRuns(db, caller.accountId, query),
    getRun: async ({ params: { runId } }, { caller }) => {
      return { data: orNotFound(await findManagedRun(db, caller.accountId, runId), "run", runId) };
    },
    quoteRun: async ({ body }, { caller }) => ({ data: await quoteRun(caller.accountId, body, options) }),
    listInstallationRuns: async ({ query }) => ({
      data: await listInstallationRuns(db, query, options.clock.nowMs()),
    }),
    getInstallationRun: async ({ params: { runId } }) => {
      return { data: orNotFound(await findInstallationRun(db, runId), "run", runId) };
    },
    listModelHealth: async () => ({ data: { rows: await listModelHealth(db) } }),
    getSystem: async () => {
      const [mail, askedLinks, operatorsWithoutSignIn, system] = await Promise.all([
        readMailState(db),
        listLinkRequests(db),
        listOperatorsWithoutSignIn(db),
        readSystem(db),
      ]);
      return { data: { version: VERSION, mail, askedLinks, operatorsWithoutSignIn, ...system } };
    },
  } satisfies Partial<ManageHandlers>;
}
