import { z } from "zod";
import { address, range, setting, smtpUrl, text, toggle } from "../setting-forms.ts";

export const PEOPLE = {
  PROMPTD_SIGN_UP: setting(z.enum(["off", "invite", "open"]), {
    default: "invite",
    expected: "off, invite, or open",
    meaning:
      "Who can sign up: nobody, people with an invitation, or everyone who can reach the server. Operators can always create accounts.",
  }),
  PROMPTD_SIGN_UP_CREDITS: range("credits", [0, 1_000_000_000], {
    default: "0",
    meaning:
      "Credits that a new person's account starts with. Without mail, addresses are not confirmed, so any owner can invite addresses they control, and each of them gets these credits.",
  }),
  PROMPTD_SIGN_UP_PLAN: setting(z.enum(["pro", "none"]), {
    default: "none",
    expected: "pro or none",
    meaning: "Plan that a new person's account starts with.",
  }),
  PROMPTD_SMTP_URL: setting(smtpUrl, {
    default: null,
    expected:
      "smtp://user:password@host:587, or smtps:// for TLS from the first byte. With a password, smtp:// to another machine requires STARTTLS unless the URL ends with ?requireTLS=false",
    meaning:
      "Mail server for invitations, password resets, and address confirmations. Requires PROMPTD_MAIL_FROM. Unset: invitation links are shown to the person who invites, and an operator creates sign-in links for people who forgot their password.",
    isSecret: true,
  }),
  PROMPTD_MAIL_FROM: setting(text.regex(/@/), {
    default: null,
    expected: "an address such as promptd <promptd@example.org>",
    meaning: "Sender address of mail. Requires PROMPTD_SMTP_URL.",
  }),
  GITHUB_CLIENT_ID: setting(text, {
    default: null,
    expected: "a client id",
    meaning:
      "Client ID of a GitHub OAuth app, for signing in with GitHub. The app's callback URL is PROMPTD_PUBLIC_URL followed by /manage/auth/callback/github.",
    requires: ["GITHUB_CLIENT_SECRET"],
  }),
  GOOGLE_CLIENT_ID: setting(text, {
    default: null,
    expected: "a client id",
    meaning:
      "Client ID of a Google OAuth client, for signing in with Google. The client's redirect URI is PROMPTD_PUBLIC_URL followed by /manage/auth/callback/google.",
    requires: ["GOOGLE_CLIENT_SECRET"],
  }),
  OIDC_ISSUER: address(
    "Issuer URL of an OpenID Connect provider, such as Keycloak, Entra ID, or Okta, for signing in. The redirect URI is PROMPTD_PUBLIC_URL followed by /manage/auth/callback/oidc.",
    { requires: ["OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET"] },
  ),
  OIDC_CLIENT_ID: setting(text, {
    default: null,
    expected: "a client id",
    meaning: "Client ID of this installation at OIDC_ISSUER.",
    requires: ["OIDC_ISSUER"],
  }),
  OIDC_NAME: setting(text, {
    default: "Single sign-on",
    expected: "a name",
    meaning: "Display name of the OIDC_ISSUER provider, shown on the sign-in page.",
  }),
  OIDC_TRUST_EMAIL: toggle({
    default: "off",
    meaning:
      "on: an address from OIDC_ISSUER counts as confirmed if the provider does not send email_verified, as Entra ID does not. An address that counts as confirmed opens invitations and the existing sign-in with that address, so set it only for a provider where nobody but your administrators can set addresses.",
  }),
  PROMPTD_AUDIT_DAYS: range("days", [1, 36_500], {
    default: "365",
    meaning: "How long audit log entries are kept.",
  }),
} as const;

export const CREDITS = {
  PROMPTD_PLANS: toggle({
    default: "on",
    meaning: "off: every account may use the API, with or without a plan. For private installations.",
  }),
  PROMPTD_HOLD_MAX_CREDITS: range("credits", [1, 1_000_000_000], {
    default: "10000",
    meaning: "The most credits one run may hold. A prompt that could cost more cannot be published.",
  }),
  PROMPTD_AUTHOR_SHARE: range("percent", [0, 100], {
    default: "0",
    meaning:
      "The author's share of the credits that others pay for runs of a prompt. `promptd admin prompt share` sets a different share for one prompt. A run keeps the share that applied when it was created.",
  }),
  PROMPTD_AUTHOR_RUNS: setting(z.enum(["free", "charged"]), {
    default: null,
    expected: "free or charged",
    meaning:
      "Whether runs of an author's own prompts and drafts cost credits. Unset: free, but charged with `PROMPTD_SIGN_UP=open`, because anyone could write a prompt for any model. Authors earn nothing from such runs.",
  }),
  PROMPTD_USAGE_DAYS: range("days", [31, 3_650], {
    default: "730",
    meaning: "How long daily usage totals are stored.",
  }),
} as const;
