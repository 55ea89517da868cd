/**
 * Texts that an embeddings model refused alone while it answered others. Each is asked for again, later and later: a
 * model short of quota refuses a long text and answers a short one as well, and is not short of it for long.
 */
const AGAIN_AFTER_MS = [30_000, 300_000];

export class Refusals {
  readonly #refused = new Map<number, { readonly times: number; readonly dueMs: number }>();

  docs(): number[] {
    return [...this.#refused.keys()];
  }

  nextDue(nowMs: number): number | null {
    for (const [doc, { dueMs }] of this.#refused) if (dueMs <= nowMs) return doc;
    return null;
  }

  add(doc: number, nowMs: number): void {
    const times = this.#refused.get(doc)?.times ?? 0;
    this.#refused.set(doc, { times: times + 1, dueMs: nowMs + (AGAIN_AFTER_MS[times] ?? 0) });
  }

  /** It was refused after every pause. */
  isFinal(doc: number): boolean {
    return (this.#refused.get(doc)?.times ?? 0) > AGAIN_AFTER_MS.length;
  }

  forget(doc: number): void {
    this.#refused.delete(doc);
  }
}
