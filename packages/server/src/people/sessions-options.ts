/** What the sessions of an installation depend on. */
import type { Database } from "../platform/database/database.ts";
import type { Log } from "../platform/log.ts";
import type { AuthSecrets } from "./secrets/auth-secrets.ts";
import type { OidcProvider, SignInService } from "./services/oidc-provider.ts";

export type SignInServices = Partial<Record<"github" | "google", SignInService>>;

export interface SessionsOptions {
  readonly db: Database;
  readonly log: Log;
  readonly newId: () => string;
  /** The first signs cookies and encrypts the second factors; all of them decrypt second factors. */
  readonly secrets: AuthSecrets;
  /** The address at which people reach the server; known for certain once it listens. */
  readonly publicUrl: () => string;
  /** Configured sign-in services, by name. */
  readonly services: SignInServices;
  readonly oidc: OidcProvider | null;
  readonly onLibraryWarning: (message: string, rest: readonly unknown[]) => void;
  /**
   * Whether somebody may sign up on their own. @returns the reason why not.
   * @param person `isVerified`: a sign-in service confirms that the address is theirs.
   */
  readonly refuseSignUp: (person: { readonly email: string; readonly isVerified: boolean }) => Promise<string | null>;
  /** Why nobody signs up with a password on their own; null: everybody may. */
  readonly closedSignUp: string | null;
  /** Called at each sign-in, before its session exists. */
  readonly onSignIn: (personId: string) => Promise<void>;
  /** False: operators hand over what would otherwise be mailed. */
  readonly hasMail: boolean;
  /** A person may set a new password through this link, once, within an hour. */
  readonly onResetRequested: (email: string, link: string) => Promise<void>;
  /** A person has set a new password through such a link. */
  readonly onPasswordReset: (personId: string, address: string | null) => Promise<void>;
  /** A person signs in with a service for the first time: they are new, have linked it, or have its confirmed address. */
  readonly onServiceLinked: (personId: string, address: string | null) => Promise<void>;
  /** A person who signed up confirms their address through this link; null: no confirmation is required. */
  readonly onVerificationRequested: ((email: string, link: string) => Promise<void>) | null;
  /** Called if somebody signs up with the address of an existing person, and confirmation is required. */
  readonly onTakenAddress: (email: string) => Promise<void>;
}
