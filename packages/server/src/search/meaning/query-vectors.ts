/**
 * Vectors of queries from the embeddings model. They are cached, a query never waits for one longer than a reader would
 * notice, and the model is not called while it keeps failing.
 */
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import { createBreaker } from "../../platform/resilience/breaker.ts";
import { settleWithin } from "../../platform/resilience/deadline.ts";
import { titleKey } from "../text/analyser.ts";
import { LRUCache } from "lru-cache";
import { acceptVectors, withPrefix, type RemoteEmbedder, type ModelLength } from "./remote-embedder.ts";

export interface QueryVectors {
  /** Null when the model did not return a valid vector in time; the built-in vectors are used then. Never rejects. */
  find(query: string, embedder: { readonly embedder: string; readonly dims: number }): Promise<Float32Array | null>;
  close(): void;
}

export interface QueryVectorsOptions {
  readonly model: RemoteEmbedder;
  readonly clock: Clock;
  readonly log: Log;
  readonly modelLength?: Pick<ModelLength, "noteOther">;
  /** How long a query waits. A late vector is cached for the next time. */
  readonly deadlineMs?: number | undefined;
  /** Test only: timeout of a call to the model. */
  readonly giveUpMs?: number;
}

const DEADLINE_MS = 300;
const GIVE_UP_MS = 5_000;
const REMEMBERED_MAX = 1_000;
/** After five failures of the last five calls within half a minute, the model is not called for half a minute. */
const BREAKER = { windowCalls: 5, callsMin: 5, failingShare: 1, windowMs: 30_000, openMs: 30_000 };

export function createQueryVectors(options: QueryVectorsOptions): QueryVectors {
  const known = new LRUCache<string, Float32Array>({ max: REMEMBERED_MAX });
  const asking = new Map<string, Question>();
  const breaker = createBreaker({ ...BREAKER, nowMs: () => options.clock.nowMs() });
  const closing = new AbortController();

  /**
   * A call that is late and then times out counts as one failure, even if several queries wait for it. A late probe has
   * not failed yet: its answer shows that the model is back.
   */
  function createQuestion(answer: (outcome: Outcome) => Question["answer"]): Question {
    const isProbe = breaker.isOpen;
    let isCounted = false;
    const failed = () => {
      if (!isCounted) breaker.record("failed");
      isCounted = true;
    };
    const succeeded = () => {
      if (!isCounted) breaker.record("ok");
    };
    return { late: isProbe ? () => {} : failed, answer: answer({ failed, succeeded }) };
  }
  async function ask(key: string, query: string, dims: number, { failed, succeeded }: Outcome) {
    try {
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(options.giveUpMs ?? GIVE_UP_MS)]);
      const vectors = await options.model.embedTexts([withPrefix(options.model.queryPrefix, query)], signal);
      if (vectors[0] !== undefined && vectors[0].length !== dims) options.modelLength?.noteOther();
      const [vector] = acceptVectors(vectors, { count: 1, dims });
      if (vector === undefined) return null;
      known.set(key, vector);
      succeeded();
      return vector;
    } catch (error) {
      failed();
      // The provider's error message may repeat the query, so only the kind of failure is logged.
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
      if (closing.signal.aborted) return null;
      const pending = asking.get(key);
      if (pending === undefined && breaker.admit() > 0) return null;
      const question = pending ?? createQuestion((own) => ask(key, query, dims, own));
      asking.set(key, question);
      const isAnswered = await settleWithin([question.answer], options.deadlineMs ?? DEADLINE_MS);
      if (isAnswered) return question.answer;
      question.late();
      return null;
    },
    close: () => closing.abort(),
  };
}

/** Reported to the breaker once. A late answer is cached, but a model that is always late serves no query. */
interface Outcome {
  readonly failed: () => void;
  readonly succeeded: () => void;
}

/** A call to the model in progress. */
interface Question {
  readonly late: () => void;
  readonly answer: Promise<Float32Array | null>;
}
