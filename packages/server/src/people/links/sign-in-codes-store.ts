import { queryAnswer } from "../../platform/database/answers.ts";
import type { Queryable } from "../../platform/database/database.ts";

export interface SignInCode {
  readonly personId: string | null;
  readonly accountId: string | null;
  readonly makesOperator: boolean;
  readonly signsIn: boolean;
}

export async function insertCode(db: Queryable, hash: Buffer, code: SignInCode & { seconds: number }): Promise<void> {
  await db.query(
    `insert into sign_in_codes (code_hash, person_id, account_id, makes_operator, signs_in, expires_at)
     values ($1, $2, $3, $4, $5, promptd_now() + make_interval(secs => $6))`,
    [hash, code.personId, code.accountId, code.makesOperator, code.signsIn, code.seconds],
  );
}

const CODE = `person_id as "personId", account_id as "accountId", makes_operator as "makesOperator", signs_in as "signsIn"`;

/** Null: there is no such code, it was used, or it has expired. */
export function findCode(db: Queryable, hash: Buffer): Promise<SignInCode | null> {
  const text = `select ${CODE} from sign_in_codes where code_hash = $1 and used_at is null and expires_at > promptd_now()`;
  return queryAnswer(db, text, [hash]);
}

/** If two requests use a code at once, only one gets it. */
export function useCode(db: Queryable, hash: Buffer): Promise<SignInCode | null> {
  return queryAnswer(
    db,
    `update sign_in_codes set used_at = promptd_now()
     where code_hash = $1 and used_at is null and expires_at > promptd_now() returning ${CODE}`,
    [hash],
  );
}
