/** Every address of the console. Screens load when their address opens. Search parameters are typed here. */
import { RUN_STATUSES } from "@promptd/contract";
import type { QueryClient } from "@tanstack/react-query";
import { createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { NoSuchPage } from "./components/shell/no-such-page.tsx";
import { ScreenShapes } from "./components/shell/screen-shapes.tsx";
import { inside, oneOf, open, root, text, timeOf, words } from "./routes/frame.ts";
import { operator } from "./routes/operator.ts";
import { settings } from "./routes/settings.ts";
import { MarketplaceScreen } from "./screens/marketplace/marketplace.tsx";

import type {
  AuthorSearch,
  CreditsSearch,
  EditorSearch,
  KeysSearch,
  MarketplaceSearch,
  PromptSearch,
  RunsSearch,
  SignInSearch,
} from "./search.ts";
import { hasSession, openSession } from "./session.ts";
import { ownPath } from "./sign-in.ts";

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
    promptId: text(search["promptId"]),
    keyId: text(search["keyId"]),
    model: text(search["model"]),
    ...timeOf(search),
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
  validateSearch: (search: Record<string, unknown>): KeysSearch => ({
    new: search["new"] === undefined ? undefined : 1,
    revoked: oneOf(search["revoked"], ["with"]),
  }),
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
    // The router parses digits in the address as a number.
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

/** Every other address. */
const notFound = createRoute({ getParentRoute: () => open, path: "$", component: NoSuchPage });

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
  beforeLoad: async ({ context, search }) => {
    if (search.error !== undefined || !(await hasSession()) || !(await openSession(context.queries))) return;
    // oxlint-disable-next-line typescript/only-throw-error -- the router takes a thrown redirect, which is a response
    throw redirect({ href: ownPath(search.from) });
  },
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

const confirmAddress = createRoute({
  getParentRoute: () => root,
  path: "/confirm-address",
  component: lazyRouteComponent(() => import("./screens/confirm-address/confirm-address.tsx"), "ConfirmAddressScreen"),
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
    settings,
    operator,
  ]),
  open.addChildren([docs.addChildren(docsSections), notFound]),
  parts,
  signIn,
  signUp,
  forgotPassword,
  resetPassword,
  welcome,
  invitation,
  newAddress,
  confirmAddress,
]);

export function createAppRouter(queries: QueryClient) {
  return createRouter({
    routeTree: tree,
    context: { queries },
    defaultPreload: "intent",
    defaultPendingComponent: ScreenShapes,
    defaultPendingMs: 300,
    defaultPendingMinMs: 0, // show what has loaded
    scrollRestoration: true,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
