import { RUN_STATUSES } from "@promptd/contract";
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import type { AuditSearch, InstallationRunsSearch } from "../search.ts";
import { inside, oneOf, text, timeOf, words } from "./frame.ts";

const section = createRoute({
  getParentRoute: () => inside,
  path: "/operator",
  component: lazyRouteComponent(() => import("../screens/operator/operator.tsx"), "OperatorScreen"),
});
const sections = [
  createRoute({
    getParentRoute: () => section,
    path: "/",
    component: lazyRouteComponent(() => import("../screens/operator/overview.tsx"), "OverviewSection"),
  }),
  createRoute({
    getParentRoute: () => section,
    path: "/runs",
    component: lazyRouteComponent(() => import("../screens/operator/installation-runs.tsx"), "InstallationRunsSection"),
    validateSearch: (search: Record<string, unknown>): InstallationRunsSearch => ({
      id: text(search["id"]),
      status: oneOf(search["status"], RUN_STATUSES),
      cause: text(search["cause"]),
      model: text(search["model"]),
      accountId: text(search["accountId"]),
      ...timeOf(search),
    }),
  }),
  createRoute({
    getParentRoute: () => section,
    path: "/runs/$runId",
    component: lazyRouteComponent(() => import("../screens/operator/installation-run.tsx"), "InstallationRunSection"),
  }),
  createRoute({
    getParentRoute: () => section,
    path: "/models",
    component: lazyRouteComponent(() => import("../screens/operator/models/models.tsx"), "ModelsSection"),
  }),
  createRoute({
    getParentRoute: () => section,
    path: "/people",
    component: lazyRouteComponent(() => import("../screens/operator/people.tsx"), "PeopleSection"),
    validateSearch: words,
  }),
  createRoute({
    getParentRoute: () => section,
    path: "/accounts",
    component: lazyRouteComponent(() => import("../screens/operator/accounts.tsx"), "AccountsSection"),
    validateSearch: words,
  }),
  createRoute({
    getParentRoute: () => section,
    path: "/accounts/$accountId",
    component: lazyRouteComponent(() => import("../screens/operator/account.tsx"), "AccountSection"),
  }),
  createRoute({
    getParentRoute: () => section,
    path: "/prompts",
    component: lazyRouteComponent(() => import("../screens/operator/prompts.tsx"), "PromptsSection"),
    validateSearch: words,
  }),
  createRoute({
    getParentRoute: () => section,
    path: "/audit",
    component: lazyRouteComponent(() => import("../screens/operator/audit.tsx"), "AuditSection"),
    validateSearch: (search: Record<string, unknown>): AuditSearch => ({
      q: text(search["q"]),
      reads: oneOf(search["reads"], ["with"]),
      action: text(search["action"]),
      outcome: oneOf(search["outcome"], ["success", "failure"]),
      accountId: text(search["accountId"]),
      personId: text(search["personId"]),
    }),
  }),
] as const;

export const operator = section.addChildren(sections);
