/**
 * Audit log rows for what better-auth handles under /manage/auth: who signs in, tries to, or signs out, and how people
 * change their ways to sign in. All other rows come from the contract's entries.
 */
import { z } from "zod";
import type { Database } from "../../platform/database/database.ts";
import type { WriteEntry } from "../audit/audit.ts";
import type { PeopleContext } from "../people-context.ts";
import { findPersonByEmail, findPersonOfSession } from "../people-store.ts";
import { readSessionCookie } from "./session-cookie.ts";

/** Handles a request and writes its row. */
export type AuditAuth = (
  authRequest: { readonly request: Request; readonly address: string; readonly requestId: string },
  answer: () => Promise<Response>,
) => Promise<Response>;

const ROOT = "/manage/auth";
/** Paths that begin a session. */
const WAYS_IN = [
  "/sign-in/email",
  "/sign-up/email",
  "/verify-email",
  "/callback/",
  "/oauth2/callback/",
  "/two-factor/verify",
];
/** What people change about themselves while signed in. */
const CHANGES: Readonly<Record<string, string>> = {
  "/sign-out": "signOut",
  "/change-password": "changePassword",
  "/update-user": "changeName",
  "/revoke-sessions": "endSessions",
  "/revoke-other-sessions": "endOtherSessions",
  "/two-factor/enable": "prepareSecondFactor",
  "/two-factor/verify-totp": "switchOnSecondFactor",
  "/two-factor/disable": "switchOffSecondFactor",
  "/two-factor/generate-backup-codes": "makeBackupCodes",
  // The service has not confirmed anything yet, but the person has.
  "/link-social": "addSignInService",
  "/unlink-account": "removeSignInService",
};
const RESET = "/request-password-reset";

export function createSignInAudit(people: PeopleContext): AuditAuth {
  return async ({ request, address, requestId }, answer) => {
    const path = new URL(request.url).pathname.slice(ROOT.length);
    const change = CHANGES[path];
    const isWayIn = WAYS_IN.some((way) => path.startsWith(way));
    if (change === undefined && !isWayIn && path !== RESET) return answer();
    const sent = request.clone();
    const before = change === undefined ? null : await personOf([request.headers.get("cookie") ?? ""], people);
    const response = await answer();
    if (response.status === 429) return response; // otherwise anybody could fill the log
    const write: WriteEntry = (entry) => people.writeEntry({ ...entry, address, requestId });
    // A reset or a refusal is not awaited: the response time must not reveal who has an account here.
    if (path === RESET) void noteReset(sent, people.db, write);
    else if (change !== undefined && before !== null)
      await write({ actor: "session", personId: before, action: change, outcome: outcomeOf(response) });
    else if (isWayIn) {
      const personId = await personOf(cookiesOf(response), people);
      if (personId !== null) await write({ actor: "none", personId, action: "signIn", outcome: "SUCCESS" });
      else if (response.status === 401) void noteRefusal(sent, people.db, write);
    }
    return response;
  };
}

async function noteReset(sent: Request, db: Database, write: WriteEntry): Promise<void> {
  const personId = await personNamed(sent, db);
  if (personId !== null) await write({ actor: "none", personId, action: "requestPasswordReset", outcome: "SUCCESS" });
}

/** A password for an unknown address has no person; a code comes after the correct password. */
async function noteRefusal(sent: Request, db: Database, write: WriteEntry): Promise<void> {
  const isCode = new URL(sent.url).pathname.includes("/two-factor/");
  const personId = isCode ? null : await personNamed(sent, db);
  if (isCode || personId !== null)
    await write({ actor: "none", personId, action: "signIn", outcome: "UNAUTHORIZED_ERROR" });
}

/** The person with the address in a body; null: no such person, or no address. */
async function personNamed(sent: Request, db: Database): Promise<string | null> {
  try {
    const { success, data } = z.object({ email: z.string() }).safeParse(await sent.json());
    return success ? await findPersonByEmail(db, data.email) : null;
  } catch {
    return null; // not JSON, or an outage: better-auth has responded
  }
}

async function personOf(cookies: readonly string[], { db, publicUrl, secret }: PeopleContext): Promise<string | null> {
  const token = readSessionCookie(cookies, publicUrl(), secret);
  return token === null ? null : findPersonOfSession(db, token);
}

function cookiesOf(response: Response): string[] {
  return response.headers.getSetCookie().map((cookie) => cookie.split(";")[0] ?? "");
}

function outcomeOf({ status }: Response): string {
  if (status < 400) return "SUCCESS";
  return status === 401 ? "UNAUTHORIZED_ERROR" : status < 500 ? "VALIDATION_ERROR" : "SERVER_ERROR";
}
