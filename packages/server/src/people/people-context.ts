import type { Features } from "@promptd/contract/manage";
import type { Config } from "../platform/config/config.ts";
import type { Database } from "../platform/database/database.ts";
import type { WriteEntry } from "./audit/audit.ts";
import type { Mailer } from "./mail/mailer.ts";
import type { PersonalAccountOptions } from "./personal-account.ts";
import type { Sessions } from "./sign-in/sessions.ts";

/** What the endpoints about people work with. */
export interface PeopleContext {
  readonly config: Config;
  readonly db: Database;
  readonly newId: () => string;
  readonly sessions: Sessions;
  /** Signs session cookies and passkey challenges. */
  readonly secret: string;
  /** Signs the ids of programs that request access. */
  readonly clientsKey: Buffer;
  readonly publicUrl: () => string;
  /** Null: there is no mail server. Operators change addresses, and inviters get the link. */
  readonly mailer: Mailer | null;
  readonly features: () => Features;
  readonly writeEntry: WriteEntry;
  /** What a new person's account starts with. */
  readonly newAccount: PersonalAccountOptions;
}
