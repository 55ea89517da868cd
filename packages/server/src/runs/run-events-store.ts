/** SQL for following runs (migration 0020): who follows, and the text pieces that workers leave for followers. */
import type { RunStatus } from "@promptd/contract";
import type { Database, Queryable } from "../platform/database/database.ts";
import type { RunOfAccount } from "./runs-store.ts";

/** A piece of a text output, written while its model is still writing. */
export interface TextPiece {
  readonly runId: string;
  /** Index among the outputs of the run. */
  readonly output: number;
  /** Number of the provider call for this output, starting from 1: a higher number starts the text over. */
  readonly call: number;
  readonly text: string;
}

/** `id` increases from piece to piece of a run and is never reused; a decimal number of up to 19 digits. */
export type StoredPiece = TextPiece & { readonly id: string };

/** Longer than a follower's refresh interval (run-followers.ts), so that a busy process loses no text. */
const FOLLOWED_SECONDS = 60;

/** Asks the workers to stream the text of these runs. */
export async function followRuns(db: Queryable, runIds: readonly string[]): Promise<void> {
  await db.query(
    {
      name: "run_follow",
      text: `insert into run_followers (run_id, until)
        select id, promptd_now() + interval '${FOLLOWED_SECONDS} seconds' from unnest($1::uuid[]) f (id) order by id
        on conflict (run_id) do update set until = excluded.until`,
    },
    [runIds],
  );
}

export async function writePieces(db: Queryable, pieces: readonly TextPiece[]): Promise<void> {
  const column = (read: (piece: TextPiece) => unknown): unknown[] => pieces.map(read);
  await db.query(
    {
      name: "run_pieces_write",
      text: `insert into run_pieces (run_id, id, output, call, piece)
        select run_id, nextval('run_piece_ids'), output, call, piece
        from (select * from unnest($1::uuid[], $2::int[], $3::int[], $4::text[]) with ordinality
          p (run_id, output, call, piece, nth) order by nth) p`,
    },
    [
      column(({ runId }) => runId),
      column(({ output }) => output),
      column(({ call }) => call),
      column(({ text }) => text),
    ],
  );
}

/** A follower's position: the last piece it has. */
interface Position {
  readonly runId: string;
  readonly after: string;
}

const PIECES_AT_ONCE = 100;

/** The next pieces at each position, in order of ids; at most 100 pieces each. */
export async function readPieces(db: Database, positions: readonly Position[]): Promise<StoredPiece[][]> {
  const rows = await db.pipelined<StoredPiece & { nth: number }>(
    {
      name: "run_pieces_read",
      text: `select f.nth::int, p.run_id as "runId", p.id::text, p.output, p.call, p.piece as text
     from unnest($1::uuid[], $2::bigint[]) with ordinality f (run_id, after, nth)
     cross join lateral (select * from run_pieces p where p.run_id = f.run_id and p.id > f.after
       order by p.id limit ${PIECES_AT_ONCE}) p order by f.nth, p.id`,
    },
    [positions.map(({ runId }) => runId), positions.map(({ after }) => after)],
  );
  const pieces: StoredPiece[][] = positions.map(() => []);
  for (const { nth, ...piece } of rows) pieces[nth - 1]?.push(piece);
  return pieces;
}

export async function readStatuses(db: Database, runs: readonly RunOfAccount[]): Promise<Map<string, RunStatus>> {
  const rows = await db.pipelined<{ id: string; status: RunStatus }>(
    {
      name: "run_statuses",
      text: `select r.id, r.status from unnest($1::uuid[], $2::uuid[]) f (account_id, id)
     join runs r on r.account_id = f.account_id and r.id = f.id`,
    },
    [runs.map(({ accountId }) => accountId), runs.map(({ runId }) => runId)],
  );
  return new Map(rows.map(({ id, status }) => [id, status]));
}

/** Longer than any run that writes text can live. */
const STORED_MINUTES = 35;

export async function deleteOldPieces(db: Queryable): Promise<void> {
  await db.query(`delete from run_pieces where written_at < promptd_now() - interval '${STORED_MINUTES} minutes'`);
  await db.query("delete from run_followers where until < promptd_now()");
}
