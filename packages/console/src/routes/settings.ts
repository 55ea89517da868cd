import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import type { SecuritySearch, WebhookSearch } from "../search.ts";
import { inside, oneOf, text } from "./frame.ts";

const section = createRoute({
  getParentRoute: () => inside,
  path: "/settings",
  component: lazyRouteComponent(() => import("../screens/settings/settings.tsx"), "SettingsScreen"),
});
const sections = [
  createRoute({
    getParentRoute: () => section,
    path: "/",
    component: lazyRouteComponent(() => import("../screens/settings/profile/profile.tsx"), "ProfileSection"),
  }),
  createRoute({
    getParentRoute: () => section,
    path: "/security",
    component: lazyRouteComponent(() => import("../screens/settings/security/security.tsx"), "SecuritySection"),
    validateSearch: (search: Record<string, unknown>): SecuritySearch => ({
      linked: text(search["linked"]),
      service: text(search["service"]),
      error: text(search["error"]),
    }),
  }),
  createRoute({
    getParentRoute: () => section,
    path: "/tokens",
    component: lazyRouteComponent(() => import("../screens/settings/tokens.tsx"), "TokensSection"),
  }),
  createRoute({
    getParentRoute: () => section,
    path: "/webhooks",
    component: lazyRouteComponent(() => import("../screens/settings/webhooks/webhooks.tsx"), "WebhooksSection"),
  }),
  createRoute({
    getParentRoute: () => section,
    path: "/webhooks/$webhookId",
    component: lazyRouteComponent(() => import("../screens/settings/webhooks/webhook.tsx"), "WebhookSection"),
    validateSearch: (search: Record<string, unknown>): WebhookSearch => ({
      state: oneOf(search["state"], ["pending", "delivered", "failed"]),
    }),
  }),
  createRoute({
    getParentRoute: () => section,
    path: "/members",
    component: lazyRouteComponent(() => import("../screens/settings/members.tsx"), "MembersSection"),
  }),
  createRoute({
    getParentRoute: () => section,
    path: "/account",
    component: lazyRouteComponent(() => import("../screens/settings/account.tsx"), "AccountSection"),
  }),
  createRoute({
    getParentRoute: () => section,
    path: "/appearance",
    component: lazyRouteComponent(() => import("../screens/settings/appearance.tsx"), "AppearanceSection"),
  }),
] as const;

export const settings = section.addChildren(sections);
