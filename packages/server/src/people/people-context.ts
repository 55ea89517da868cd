import type { Features } from "@promptd/contract/manage";
import type { Database } from "../platform/database/database.ts";
import type { Mailer } from "./mail/mailer.ts";
import type { PersonalAccountOptions } from "./personal-account.ts";
import type { Sessions } from "./sign-in/sessions.ts";

/** What the endpoints about people work with. */
export interface PeopleContext {
  readonly db: Database;
  readonly newId: () => string;
  readonly sessions: Sessions;
  /** Signs session cookies and the challenges of passkeys. */
  readonly secret: string;
  readonly publicUrl: () => string;
  /** Null: there is no mail server. Operators change addresses, and who invites gets the link. */
  readonly mailer: Mailer | null;
  readonly features: () => Features;
  /** False: nobody new comes in, by no invitation either. */
  readonly takesNewPeople: boolean;
  /** What the account of a new person begins with. */
  readonly newAccount: PersonalAccountOptions;
}
