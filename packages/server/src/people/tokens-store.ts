import type { CreatedToken, NewToken, Page, PageQuery, Token } from "@promptd/contract/manage";
import { displayOf, hashApiKey, mintToken } from "../accounts/index.ts";
import { queryAnswer } from "../platform/database/answers.ts";
import type { Database, Queryable, Tx } from "../platform/database/database.ts";
import { readPage } from "../platform/database/pages.ts";
import { invalid } from "../platform/problem.ts";
import type { MemberOfAccount } from "./members-store.ts";
import { lockPerson } from "./people-store.ts";

const COLUMNS = `id as "tokenId", name, display, account_id as "accountId", scopes, created_at as "createdAt",
  expires_at as "expiresAt", last_used_at as "lastUsedAt", revoked_at as "revokedAt"`;

/** Lists a person's tokens for one account (`owner`). */
export function listTokens(db: Queryable, owner: MemberOfAccount, query: PageQuery): Promise<Page<Token>> {
  return readPage(db, query, {
    what: "token",
    columns: COLUMNS,
    from: "management_tokens",
    where: "person_id = $1 and account_id = $2",
    values: [owner.personId, owner.accountId],
  });
}

const TOKENS_PER_PERSON_MAX = 50;

/**
 * Creates a token; this is the only time it is returned whole. @throws Problem if the person already has the maximum
 * number of active tokens.
 */
export async function createToken(
  db: Database,
  newId: () => string,
  token: MemberOfAccount & NewToken,
): Promise<CreatedToken> {
  const secret = mintToken();
  const row = { ...token, tokenId: newId(), hash: hashApiKey(secret), display: displayOf(secret) };
  const created = await db.tx((tx) => insertToken(tx, row));
  if (created !== null) return { ...created, token: secret };
  const message = `You already have ${TOKENS_PER_PERSON_MAX} management tokens, the maximum per person. Revoke one first.`;
  throw invalid([{ path: ["body", "name"], code: "too_many", message }]);
}

interface TokenToInsert extends MemberOfAccount, NewToken {
  readonly tokenId: string;
  readonly hash: Buffer;
  readonly display: string;
}

/** Locks the person, whose tokens are counted. Null: they already have the maximum number of active tokens. */
async function insertToken(tx: Tx, token: TokenToInsert): Promise<Token | null> {
  await lockPerson(tx, token.personId);
  return queryAnswer(
    tx,
    `insert into management_tokens (id, person_id, account_id, token_hash, name, display, scopes, expires_at)
     select $1, $2, $3, $4, $5, $6, $7, promptd_now() + make_interval(days => $8)
     where (select count(*) from management_tokens
       where person_id = $2 and revoked_at is null and expires_at > promptd_now()) < $9
     returning ${COLUMNS}`,
    [
      token.tokenId,
      token.personId,
      token.accountId,
      token.hash,
      token.name,
      token.display,
      token.scopes,
      token.expiresInDays,
      TOKENS_PER_PERSON_MAX,
    ],
  );
}

/** Revokes once: a token that is already revoked keeps its first revocation time. Null: the owner has no such token. */
export function revokeToken(db: Queryable, owner: MemberOfAccount, tokenId: string): Promise<Token | null> {
  return queryAnswer(
    db,
    `update management_tokens set revoked_at = coalesce(revoked_at, promptd_now())
     where id = $1 and person_id = $2 and account_id = $3 returning ${COLUMNS}`,
    [tokenId, owner.personId, owner.accountId],
  );
}

export interface RevokedToken extends Pick<Token, "tokenId" | "name" | "scopes"> {
  /** The email address of its person. */
  readonly person: string;
  readonly revokedAt: string;
}

/** Revokes a token of any person, as the function above does. Null: there is no such token. */
export function revokeAnyToken(
  db: Queryable,
  token: { readonly tokenId: string } | { readonly hash: Buffer },
): Promise<RevokedToken | null> {
  const [condition, value] = "hash" in token ? ["token_hash = $1", token.hash] : ["id = $1", token.tokenId];
  return queryAnswer(
    db,
    `update management_tokens t set revoked_at = coalesce(t.revoked_at, promptd_now()) from auth_users u
     where t.${condition} and u.id = t.person_id
     returning t.id as "tokenId", t.name, t.scopes, u.email as person, t.revoked_at as "revokedAt"`,
    [value],
  );
}
