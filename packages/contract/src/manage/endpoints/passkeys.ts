import type { EndpointEntry } from "../../endpoints.ts";

const own = { auth: "session", role: "member" } as const;

/** The signed-in person's passkeys, and signing in with a passkey. */
export const passkeysEndpoints = {
  listPasskeys: {
    ...own,
    method: "GET",
    path: "/manage/v1/passkeys",
    summary: "List the person's passkeys, newest first",
    errors: [],
  },
  beginPasskey: {
    ...own,
    method: "POST",
    path: "/manage/v1/passkeys/options",
    summary: "Get the options a browser needs to create a passkey; valid for five minutes",
    errors: ["VALIDATION_ERROR"],
  },
  addPasskey: {
    ...own,
    method: "POST",
    path: "/manage/v1/passkeys",
    summary: "Add a passkey created by a browser",
    errors: ["VALIDATION_ERROR"],
    subject: "passkeyId",
  },
  removePasskey: {
    ...own,
    method: "DELETE",
    path: "/manage/v1/passkeys/:passkeyId",
    summary: "Remove one of the person's passkeys",
    errors: ["NOT_FOUND_ERROR", "VALIDATION_ERROR"],
    subject: "passkeyId",
  },
  beginPasskeySignIn: {
    method: "GET",
    path: "/manage/v1/passkeys/sign-in",
    summary: "Get the options a browser needs to sign in with a passkey; valid for five minutes",
    auth: "none",
    errors: ["VALIDATION_ERROR"],
  },
  signInWithPasskey: {
    method: "POST",
    path: "/manage/v1/passkeys/sign-in",
    summary: "Sign in with a passkey",
    auth: "none",
    responseHeaders: ["Set-Cookie"],
    errors: ["VALIDATION_ERROR"],
    subject: "personId",
  },
} as const satisfies Record<string, EndpointEntry>;
