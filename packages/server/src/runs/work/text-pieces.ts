/**
 * Passes on the text of followed runs while it is being written. Pieces are gathered for a moment and written together
 * for all runs of the process. Nothing waits for them, and pieces that cannot be written are dropped: the whole text
 * comes with the end of the run.
 */
import type { Queryable } from "../../platform/database/database.ts";
import type { Log } from "../../platform/log.ts";
import { gatherCalls } from "../../platform/resilience/gather-calls.ts";
import { writePieces, type TextPiece } from "../run-events-store.ts";

export interface PieceWriter {
  add(piece: TextPiece): void;
  /** Resolves when everything added so far has been written or dropped. */
  flush(): Promise<void>;
}

/** Short enough to read like typing, long enough that a fast model costs only twelve statements a second. */
const GATHER_MS = 80;
/** Above this, the database is too slow for the models, and pieces are dropped. */
const UNWRITTEN_CHARS_MAX = 4 * 2 ** 20;

export function createPieceWriter(options: {
  readonly db: Queryable;
  readonly log: Log;
  /** Called with runs whose followers have more to read. */
  readonly onWritten: (runIds: readonly string[]) => void;
}): PieceWriter {
  const { db, log, onWritten } = options;
  /** Keyed by run, output, and call: everything added to one key since the last write forms one piece. */
  let unwritten = new Map<string, TextPiece>();
  let chars = 0;
  const write = gatherCalls(GATHER_MS, async () => {
    const { whole, rest } = splitPieces([...unwritten.values()]);
    unwritten = new Map(rest.map((piece) => [keyOf(piece), piece]));
    chars = rest.length;
    if (whole.length === 0) return;
    try {
      await writePieces(db, whole);
      onWritten([...new Set(whole.map(({ runId }) => runId))]);
    } catch (error) {
      log.debug(
        { err: error, pieces: whole.length },
        "pieces of text were dropped; followers get the complete text when the run ends",
      );
    }
  });
  return {
    add: (piece) => {
      if (piece.text === "" || chars > UNWRITTEN_CHARS_MAX) return;
      chars += piece.text.length;
      const before = unwritten.get(keyOf(piece));
      unwritten.set(keyOf(piece), before === undefined ? piece : { ...piece, text: before.text + piece.text });
      write();
    },
    flush: write.flush,
  };
}

function keyOf({ runId, output, call }: TextPiece): string {
  return `${runId} ${output} ${call}`;
}

/**
 * A surrogate pair may arrive in halves: the first half waits for the second. The database accepts neither lone halves
 * nor NUL.
 */
function splitPieces(pieces: readonly TextPiece[]): { readonly whole: TextPiece[]; readonly rest: TextPiece[] } {
  const whole: TextPiece[] = [];
  const rest: TextPiece[] = [];
  for (const piece of pieces) {
    const halves = /[\ud800-\udbff]$/.exec(piece.text)?.index ?? piece.text.length;
    const text = piece.text.slice(0, halves).toWellFormed().replaceAll("\0", "\ufffd");
    if (text !== "") whole.push({ ...piece, text });
    if (halves < piece.text.length) rest.push({ ...piece, text: piece.text.slice(halves) });
  }
  return { whole, rest };
}
