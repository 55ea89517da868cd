/** What stands around every page, and how a search parameter is read. */
import type { QueryClient } from "@tanstack/react-query";
import { createRootRouteWithContext, createRoute, Outlet, redirect } from "@tanstack/react-router";
import { RouteFailure } from "../components/shell/route-failure.tsx";
import { OpenShell, Shell } from "../components/shell/shell.tsx";
import type { WordsSearch } from "../search.ts";
import { isSignedIn, openSession } from "../session.ts";

interface Context {
  readonly queries: QueryClient;
}

export const root = createRootRouteWithContext<Context>()({
  component: Outlet,
  errorComponent: RouteFailure,
});

/** Pages for those who are signed in; the others are led to the sign-in and back. */
export const inside = createRoute({
  getParentRoute: () => root,
  id: "inside",
  component: Shell,
  pendingMs: Infinity, // in its place the shapes would unmount what is written in an editor
  beforeLoad: async ({ context, location, matches }) => {
    if (await openSession(context.queries, matches.find((match) => match.routeId === "/inside/")?.search)) return;
    const from = location.href === "/" ? undefined : location.href;
    // oxlint-disable-next-line typescript/only-throw-error -- the router takes a thrown redirect, which is a response
    throw redirect({ to: "/sign-in", search: from === undefined ? {} : { from } });
  },
});

/** Pages for everybody. */
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

export const words = (search: Record<string, unknown>): WordsSearch => ({ q: text(search["q"]) });
