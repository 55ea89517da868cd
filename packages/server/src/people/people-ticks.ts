import type { Tick } from "../platform/periodic-work.ts";
import { pruneAudit } from "./audit/audit-store.ts";
import type { PeopleOptions } from "./create-people.ts";
import { pruneMails } from "./mail/mails-store.ts";
import { pruneExpired } from "./people-store.ts";
import { deriveAuthSecrets } from "./secrets/auth-secrets.ts";
import { reencryptSecondFactors } from "./secrets/second-factors-store.ts";
import { pruneChallenges } from "./sign-in/passkeys-store.ts";

type PeopleTicksOptions = Pick<PeopleOptions, "db" | "config" | "mailer" | "secret" | "previousSecrets">;

/** Periodic work for people and mail, done by one process of the installation. */
export function peopleTicks({ db, config, mailer, secret, previousSecrets }: PeopleTicksOptions): Tick[] {
  const auditDays = config.PROMPTD_AUDIT_DAYS;
  const secrets = deriveAuthSecrets(secret, previousSecrets);
  return [
    ...(mailer === null
      ? []
      : [{ name: "mails", everySeconds: 5, run: (stop?: AbortSignal) => mailer.deliverDue(stop) }]),
    { name: "passkey-challenges", everySeconds: 600, run: () => pruneChallenges(db) },
    { name: "old-mails", everySeconds: 3_600, run: () => pruneMails(db) },
    { name: "expired-sessions", everySeconds: 600, run: () => pruneExpired(db) },
    { name: "second-factors", everySeconds: 600, run: (stop) => reencryptSecondFactors(db, secrets, stop) },
    { name: "audit-days", everySeconds: 3_600, run: (stop) => pruneAudit(db, auditDays, stop) },
  ];
}
