import type { CreatedToken, NewToken, Page, PageQuery, Token } from "@promptd/contract/manage";
import type { Scope } from "@promptd/contract";
import { displayOf, hashApiKey, mintToken } from "../accounts/index.ts";
import type { Database, Queryable, Tx } from "../platform/database/database.ts";
import { readPage } from "../platform/database/pages.ts";
import { invalid } from "../platform/problem.ts";
import type { MemberOfAccount } from "./members-store.ts";
import { lockPerson } from "./people-store.ts";

interface TokenRow {
  id: string;
  name: string;
  display: string;
  account_id: string;
  scopes: Scope[];
  created_at: Date;
  expires_at: Date;
  last_used_at: Date | null;
  revoked_at: Date | null;
}

const COLUMNS = "id, name, display, account_id, scopes, created_at, expires_at, last_used_at, revoked_at";

/** `owner`: whose tokens, a person's for one account. */
export async function listTokens(db: Queryable, owner: MemberOfAccount, query: PageQuery): Promise<Page<Token>> {
  return readPage(db, query, {
    what: "token",
    columns: COLUMNS,
    from: "management_tokens",
    where: "person_id = $1 and account_id = $2",
    values: [owner.personId, owner.accountId],
    toItem: toToken,
  });
}

const TOKENS_PER_PERSON_MAX = 50;

/** A new token, whole for the only time. @throws Problem when the person has as many live ones as they may have. */
export async function createToken(
  db: Database,
  newId: () => string,
  token: MemberOfAccount & NewToken,
): Promise<CreatedToken> {
  const secret = mintToken();
  const row = { ...token, tokenId: newId(), hash: hashApiKey(secret), display: displayOf(secret) };
  const created = await db.tx((tx) => insertToken(tx, row));
  if (created !== null) return { ...created, token: secret };
  const message = `You have ${TOKENS_PER_PERSON_MAX} management tokens, the most one person may have. Revoke one first.`;
  throw invalid([{ path: ["body", "name"], code: "too_many", message }]);
}

interface TokenToInsert extends MemberOfAccount, NewToken {
  readonly tokenId: string;
  readonly hash: Buffer;
  readonly display: string;
}

/** Locks the person, whose tokens are counted. Null: they have as many live ones as they may have. */
async function insertToken(tx: Tx, token: TokenToInsert): Promise<Token | null> {
  await lockPerson(tx, token.personId);
  const [row] = await tx.query<TokenRow>(
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
  return row === undefined ? null : toToken(row);
}

/** Once: a token that is revoked already stays at its first time. Null: the owner has no such token. */
export async function revokeToken(db: Queryable, owner: MemberOfAccount, tokenId: string): Promise<Token | null> {
  const [row] = await db.query<TokenRow>(
    `update management_tokens set revoked_at = coalesce(revoked_at, promptd_now())
     where id = $1 and person_id = $2 and account_id = $3 returning ${COLUMNS}`,
    [tokenId, owner.personId, owner.accountId],
  );
  return row === undefined ? null : toToken(row);
}

function toToken(row: TokenRow): Token {
  return {
    tokenId: row.id,
    name: row.name,
    display: row.display,
    accountId: row.account_id,
    scopes: row.scopes,
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at.toISOString(),
    lastUsedAt: row.last_used_at?.toISOString() ?? null,
    revokedAt: row.revoked_at?.toISOString() ?? null,
  };
}
