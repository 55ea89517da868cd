/** The frame around every page, and how search parameters are parsed. */
import type { QueryClient } from "@tanstack/react-query";
import { createRootRouteWithContext, createRoute, Outlet, redirect } from "@tanstack/react-router";
import { RouteFailure } from "../components/shell/route-failure.tsx";
import { OpenShell, Shell } from "../components/shell/shell.tsx";
import type { WordsSearch } from "../search.ts";
import { isSignedIn, openSession } from "../session.ts";
import { TIMES, type TimeSearch } from "../time-span.ts";

interface Context {
  readonly queries: QueryClient;
}

export const root = createRootRouteWithContext<Context>()({
  component: Outlet,
  errorComponent: RouteFailure,
});

/** Pages that need a sign-in. Other visitors are sent to sign-in and back. */
export const inside = createRoute({
  getParentRoute: () => root,
  id: "inside",
  component: Shell,
  pendingMs: Infinity, // placeholders here would unmount an editor and lose its text
  beforeLoad: async ({ context, location, matches }) => {
    if (await openSession(context.queries, matches.find((match) => match.routeId === "/inside/")?.search)) return;
    const from = location.href === "/" ? undefined : location.href;
    // oxlint-disable-next-line typescript/only-throw-error -- the router takes a thrown redirect, which is a response
    throw redirect({ to: "/sign-in", search: from === undefined ? {} : { from } });
  },
});

/** Pages for everyone. */
export const open = createRoute({
  getParentRoute: () => root,
  id: "open",
  component: OpenShell,
  pendingMs: Infinity,
  beforeLoad: async ({ context }) => {
    if (await isSignedIn(context.queries)) await openSession(context.queries);
  },
});

export const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
export const oneOf = <const Word extends string>(value: unknown, words: readonly Word[]) =>
  words.find((word) => word === value);

const moment = (value: unknown) => {
  const given = text(value);
  return given === undefined || Number.isNaN(Date.parse(given)) ? undefined : given;
};

export const timeOf = (search: Record<string, unknown>): TimeSearch => ({
  time: oneOf(search["time"], TIMES),
  since: moment(search["since"]),
  until: moment(search["until"]),
});

export const words = (search: Record<string, unknown>): WordsSearch => ({ q: text(search["q"]) });
