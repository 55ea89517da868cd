/** Every address of the console. A screen is loaded when its address is opened; search parameters are typed here. */
import { RUN_STATUSES } from "@promptd/contract";
import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import type {
  AuditSearch,
  CreditsSearch,
  AuthorSearch,
  EditorSearch,
  InstallationRunsSearch,
  MarketplaceSearch,
  PromptSearch,
  RunsSearch,
  SignInSearch,
  WordsSearch,
} from "./search.ts";
import { isSignedIn, openSession } from "./session.ts";
import { RouteFailure } from "./components/shell/route-failure.tsx";
import { ScreenShapes } from "./components/shell/screen-shapes.tsx";
import { OpenShell, Shell } from "./components/shell/shell.tsx";
import { MarketplaceScreen } from "./screens/marketplace/marketplace.tsx";
import { NotFoundScreen } from "./screens/not-found/not-found.tsx";

interface Context {
  readonly queries: QueryClient;
}

const root = createRootRouteWithContext<Context>()({
  component: Outlet,
  notFoundComponent: NotFoundScreen,
  errorComponent: RouteFailure,
});

/** Pages for those who are signed in; the others are led to the sign-in and back. */
const inside = createRoute({
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
const open = createRoute({
  getParentRoute: () => root,
  id: "open",
  component: OpenShell,
  pendingMs: Infinity,
  beforeLoad: async ({ context }) => {
    if (await isSignedIn(context.queries)) await openSession(context.queries);
  },
});

const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
const oneOf = <const Word extends string>(value: unknown, words: readonly Word[]) =>
  words.find((word) => word === value);

const marketplace = createRoute({
  getParentRoute: () => inside,
  path: "/",
  component: MarketplaceScreen,
  validateSearch: (search: Record<string, unknown>): MarketplaceSearch => ({
    q: text(search["q"]),
    modality: oneOf(search["modality"], ["text", "image", "video"]),
    model: text(search["model"]),
    sort: oneOf(search["sort"], ["popular", "newest", "price", "featured"]),
    tag: text(search["tag"]),
  }),
});

const prompt = createRoute({
  getParentRoute: () => inside,
  path: "/p/$slug",
  component: lazyRouteComponent(() => import("./screens/prompt/prompt.tsx"), "PromptScreen"),
  validateSearch: (search: Record<string, unknown>): PromptSearch => ({
    version: text(search["version"]),
    run: text(search["run"]),
    tab: oneOf(search["tab"], ["curl", "typescript", "python", "cli", "mcp"]),
  }),
});

const runs = createRoute({
  getParentRoute: () => inside,
  path: "/runs",
  component: lazyRouteComponent(() => import("./screens/runs/runs.tsx"), "RunsScreen"),
  validateSearch: (search: Record<string, unknown>): RunsSearch => ({
    status: oneOf(search["status"], RUN_STATUSES),
    q: text(search["q"]),
    keyId: text(search["keyId"]),
    model: text(search["model"]),
  }),
});

const run = createRoute({
  getParentRoute: () => inside,
  path: "/runs/$runId",
  component: lazyRouteComponent(() => import("./screens/run/run.tsx"), "RunScreen"),
});

const keys = createRoute({
  getParentRoute: () => inside,
  path: "/keys",
  component: lazyRouteComponent(() => import("./screens/keys/keys.tsx"), "KeysScreen"),
});

const authorize = createRoute({
  getParentRoute: () => inside,
  path: "/authorize",
  component: lazyRouteComponent(() => import("./screens/authorize/authorize.tsx"), "AuthorizeScreen"),
});

const credits = createRoute({
  getParentRoute: () => inside,
  path: "/credits",
  component: lazyRouteComponent(() => import("./screens/credits/credits.tsx"), "CreditsScreen"),
  validateSearch: (search: Record<string, unknown>): CreditsSearch => ({
    by: oneOf(search["by"], ["prompt", "key", "model"]),
    // The address holds a number as one.
    days: oneOf(String(search["days"]), ["7", "30", "90", "365"]),
  }),
});

const author = createRoute({
  getParentRoute: () => inside,
  path: "/author",
  component: lazyRouteComponent(() => import("./screens/author/author.tsx"), "AuthorScreen"),
  validateSearch: (search: Record<string, unknown>): AuthorSearch => ({
    q: text(search["q"]),
    state: oneOf(search["state"], ["draft", "published", "unpublished", "blocked"]),
  }),
});

const newPrompt = createRoute({
  getParentRoute: () => inside,
  path: "/author/new",
  component: lazyRouteComponent(() => import("./screens/author/new-prompt.tsx"), "NewPromptScreen"),
});

const editor = createRoute({
  getParentRoute: () => inside,
  path: "/author/$promptId",
  component: lazyRouteComponent(() => import("./screens/editor/editor.tsx"), "EditorScreen"),
  validateSearch: (search: Record<string, unknown>): EditorSearch => ({
    tab: oneOf(search["tab"], ["test", "rendered", "history"]),
    run: text(search["run"]),
    beside: text(search["beside"]),
    from: text(search["from"]),
    to: text(search["to"]),
  }),
});

const settings = createRoute({
  getParentRoute: () => inside,
  path: "/settings",
  component: lazyRouteComponent(() => import("./screens/settings/settings.tsx"), "SettingsScreen"),
});
const settingsSections = [
  createRoute({
    getParentRoute: () => settings,
    path: "/",
    component: lazyRouteComponent(() => import("./screens/settings/profile/profile.tsx"), "ProfileSection"),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: "/security",
    component: lazyRouteComponent(() => import("./screens/settings/security.tsx"), "SecuritySection"),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: "/tokens",
    component: lazyRouteComponent(() => import("./screens/settings/tokens.tsx"), "TokensSection"),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: "/webhooks",
    component: lazyRouteComponent(() => import("./screens/settings/webhooks/webhooks.tsx"), "WebhooksSection"),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: "/webhooks/$webhookId",
    component: lazyRouteComponent(() => import("./screens/settings/webhooks/webhook.tsx"), "WebhookSection"),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: "/members",
    component: lazyRouteComponent(() => import("./screens/settings/members.tsx"), "MembersSection"),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: "/account",
    component: lazyRouteComponent(() => import("./screens/settings/account.tsx"), "AccountSection"),
  }),
  createRoute({
    getParentRoute: () => settings,
    path: "/appearance",
    component: lazyRouteComponent(() => import("./screens/settings/appearance.tsx"), "AppearanceSection"),
  }),
] as const;

const operator = createRoute({
  getParentRoute: () => inside,
  path: "/operator",
  component: lazyRouteComponent(() => import("./screens/operator/operator.tsx"), "OperatorScreen"),
});
const words = (search: Record<string, unknown>): WordsSearch => ({ q: text(search["q"]) });
const operatorSections = [
  createRoute({
    getParentRoute: () => operator,
    path: "/",
    component: lazyRouteComponent(() => import("./screens/operator/overview.tsx"), "OverviewSection"),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: "/runs",
    component: lazyRouteComponent(() => import("./screens/operator/installation-runs.tsx"), "InstallationRunsSection"),
    validateSearch: (search: Record<string, unknown>): InstallationRunsSearch => ({
      id: text(search["id"]),
      status: oneOf(search["status"], RUN_STATUSES),
      cause: text(search["cause"]),
      model: text(search["model"]),
      accountId: text(search["accountId"]),
    }),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: "/runs/$runId",
    component: lazyRouteComponent(() => import("./screens/operator/installation-run.tsx"), "InstallationRunSection"),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: "/models",
    component: lazyRouteComponent(() => import("./screens/operator/models/models.tsx"), "ModelsSection"),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: "/people",
    component: lazyRouteComponent(() => import("./screens/operator/people.tsx"), "PeopleSection"),
    validateSearch: words,
  }),
  createRoute({
    getParentRoute: () => operator,
    path: "/accounts",
    component: lazyRouteComponent(() => import("./screens/operator/accounts.tsx"), "AccountsSection"),
    validateSearch: words,
  }),
  createRoute({
    getParentRoute: () => operator,
    path: "/accounts/$accountId",
    component: lazyRouteComponent(() => import("./screens/operator/account.tsx"), "AccountSection"),
  }),
  createRoute({
    getParentRoute: () => operator,
    path: "/prompts",
    component: lazyRouteComponent(() => import("./screens/operator/prompts.tsx"), "PromptsSection"),
    validateSearch: words,
  }),
  createRoute({
    getParentRoute: () => operator,
    path: "/audit",
    component: lazyRouteComponent(() => import("./screens/operator/audit.tsx"), "AuditSection"),
    validateSearch: (search: Record<string, unknown>): AuditSearch => ({
      action: text(search["action"]),
      outcome: oneOf(search["outcome"], ["success", "failure"]),
      accountId: text(search["accountId"]),
      personId: text(search["personId"]),
    }),
  }),
] as const;

const docs = createRoute({
  getParentRoute: () => open,
  path: "/docs",
  component: lazyRouteComponent(() => import("./screens/docs/docs.tsx"), "DocsScreen"),
  validateSearch: words,
});
const docsSections = [
  createRoute({
    getParentRoute: () => docs,
    path: "/",
    component: lazyRouteComponent(() => import("./screens/docs/docs.tsx"), "DocsHome"),
  }),
  createRoute({
    getParentRoute: () => docs,
    path: "/$guide",
    component: lazyRouteComponent(() => import("./screens/docs/guide.tsx"), "GuideSection"),
  }),
  createRoute({
    getParentRoute: () => docs,
    path: "/reference/$api",
    component: lazyRouteComponent(() => import("./screens/docs/reference.tsx"), "ReferenceSection"),
  }),
] as const;

const parts = createRoute({
  getParentRoute: () => root,
  path: "/parts",
  component: lazyRouteComponent(() => import("./screens/gallery/gallery.tsx"), "GalleryScreen"),
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  component: lazyRouteComponent(() => import("./screens/sign-in/sign-in.tsx"), "SignInScreen"),
  validateSearch: (search: Record<string, unknown>): SignInSearch => ({
    from: text(search["from"]),
    error: text(search["error"]),
  }),
});

const signUp = createRoute({
  getParentRoute: () => root,
  path: "/sign-up",
  component: lazyRouteComponent(() => import("./screens/sign-up/sign-up.tsx"), "SignUpScreen"),
});

const forgotPassword = createRoute({
  getParentRoute: () => root,
  path: "/forgot-password",
  component: lazyRouteComponent(() => import("./screens/reset-password/forgot-password.tsx"), "ForgotPasswordScreen"),
});

const resetPassword = createRoute({
  getParentRoute: () => root,
  path: "/reset-password",
  component: lazyRouteComponent(() => import("./screens/reset-password/reset-password.tsx"), "ResetPasswordScreen"),
});

const welcome = createRoute({
  getParentRoute: () => root,
  path: "/welcome",
  component: lazyRouteComponent(() => import("./screens/welcome/welcome.tsx"), "WelcomeScreen"),
});

const invitation = createRoute({
  getParentRoute: () => root,
  path: "/invitation",
  component: lazyRouteComponent(() => import("./screens/invitation/invitation.tsx"), "InvitationScreen"),
});

const newAddress = createRoute({
  getParentRoute: () => root,
  path: "/new-address",
  component: lazyRouteComponent(() => import("./screens/new-address/new-address.tsx"), "NewAddressScreen"),
});

const tree = root.addChildren([
  inside.addChildren([
    marketplace,
    prompt,
    runs,
    run,
    keys,
    authorize,
    credits,
    author,
    newPrompt,
    editor,
    settings.addChildren(settingsSections),
    operator.addChildren(operatorSections),
  ]),
  open.addChildren([docs.addChildren(docsSections)]),
  parts,
  signIn,
  signUp,
  forgotPassword,
  resetPassword,
  welcome,
  invitation,
  newAddress,
]);

export function createAppRouter(queries: QueryClient) {
  return createRouter({
    routeTree: tree,
    context: { queries },
    defaultPreload: "intent",
    defaultPendingComponent: ScreenShapes,
    defaultPendingMs: 300,
    defaultPendingMinMs: 0, // what is there is shown
    scrollRestoration: true,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
