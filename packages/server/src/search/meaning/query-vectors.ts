/**
 * Vectors of queries from the embeddings model: remembered, never waited for longer than a reader notices, and not
 * asked for at all while the model keeps failing.
 */
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import { titleKey } from "../text/analyser.ts";
import { LRUCache } from "lru-cache";
import { acceptVectors } from "./remote-embedder.ts";
import type { EmbeddingsModel } from "./remote-embedder.ts";

export interface QueryVectors {
  /** Null when the model did not answer in time or rightly; the built-in vectors answer then. Never rejects. */
  find(query: string, embedder: { readonly embedder: string; readonly dims: number }): Promise<Float32Array | null>;
  close(): void;
}

export interface QueryVectorsOptions {
  readonly model: EmbeddingsModel;
  readonly clock: Clock;
  readonly log: Log;
  /** How long a query waits; a later answer is kept for the next time. */
  readonly deadlineMs?: number;
  /** Test only: after how long a question is given up. */
  readonly giveUpMs?: number;
}

const DEADLINE_MS = 300;
const GIVE_UP_MS = 5_000;
const REMEMBERED_MAX = 1_000;
const BREAKER = { failures: 5, windowMs: 30_000, pauseMs: 30_000 };

export function createQueryVectors(options: QueryVectorsOptions): QueryVectors {
  const known = new LRUCache<string, Float32Array>({ max: REMEMBERED_MAX });
  const asking = new Map<string, Question>();
  const breaker = createBreaker(options.clock);
  const closing = new AbortController();

  /** A question that is late, and later given up, has failed once; so it has when several wait for it. */
  function createQuestion(answer: (outcome: Outcome) => Question["answer"]): Question {
    let isCounted = false;
    const failed = () => {
      if (!isCounted) breaker.failed();
      isCounted = true;
    };
    const succeeded = () => {
      if (!isCounted) breaker.succeeded();
    };
    return { failed, answer: answer({ failed, succeeded }) };
  }
  async function ask(key: string, query: string, dims: number, { failed, succeeded }: Outcome) {
    try {
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(options.giveUpMs ?? GIVE_UP_MS)]);
      const vectors = await options.model.embedTexts([query], signal);
      const [vector] = acceptVectors(vectors, { count: 1, dims });
      if (vector === undefined) return null;
      known.set(key, vector);
      succeeded();
      return vector;
    } catch (error) {
      failed();
      // The provider's own text may repeat the query, so only the kind of the failure is written.
      options.log.warn({ kind: error instanceof Error ? error.name : typeof error }, "a query was not embedded");
      return null;
    } finally {
      asking.delete(key);
    }
  }
  return {
    find: async (query, { embedder, dims }) => {
      const key = `${embedder} ${titleKey(query)}`;
      const vector = known.get(key);
      if (vector !== undefined) return vector;
      if (breaker.isOpen() || closing.signal.aborted) return null;
      const question = asking.get(key) ?? createQuestion((own) => ask(key, query, dims, own));
      if (!asking.has(key)) asking.set(key, question);
      const inTime = await withinMs(question.answer, options.deadlineMs ?? DEADLINE_MS);
      if (inTime === "late") question.failed();
      return inTime === "late" ? null : inTime;
    },
    close: () => closing.abort(),
  };
}

/** Tells the breaker, once: an answer that nobody waited for is kept, but a model that is always late serves no query. */
interface Outcome {
  readonly failed: () => void;
  readonly succeeded: () => void;
}

/** What the model is being asked. */
interface Question extends Pick<Outcome, "failed"> {
  readonly answer: Promise<Float32Array | null>;
}

async function withinMs<Result>(work: Promise<Result>, ms: number): Promise<Result | "late"> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function createBreaker(clock: Clock) {
  let failures: number[] = [];
  let openUntilMs = 0;
  return {
    isOpen: () => clock.nowMs() < openUntilMs,
    succeeded: () => {
      failures = [];
    },
    failed: () => {
      const nowMs = clock.nowMs();
      failures = [...failures.filter((at) => nowMs - at < BREAKER.windowMs), nowMs];
      if (failures.length < BREAKER.failures) return;
      failures = [];
      openUntilMs = nowMs + BREAKER.pauseMs;
    },
  };
}
