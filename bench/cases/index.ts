/** Every benchmark and what it measures. Each is loaded only when requested. */
import type { BenchCase } from "../harness/bench-case.ts";

interface ListedCase {
  readonly summary: string;
  load(): Promise<BenchCase>;
}

export const CASES = {
  "http-edge": {
    summary: "a route without a database, and GET /v1/me with key and rate limit, compared with bare node:http",
    load: async () => (await import("./http-edge.ts")).httpEdge,
  },
  "create-run": {
    summary:
      "create to response with a model that responds at once, compared with genkit, mastra, and Portkey's gateway",
    load: async () => (await import("./create-run.ts")).createRunCase,
  },
  "queue-throughput": {
    summary: "runs without HTTP, compared with pg-boss and graphile-worker on the same database",
    load: async () => (await import("./queue-throughput.ts")).queueThroughput,
  },
  claims: {
    summary: "the cost of a claim with up to 100,000 waiting and a million ended runs",
    load: async () => (await import("./claims.ts")).claims,
  },
  "two-workers": {
    summary: "two worker processes compared with one, with runs that wait for their model",
    load: async () => (await import("./two-workers.ts")).twoWorkers,
  },
  "run-list": {
    summary: "pages that the database reads to list runs, with up to a million in one account",
    load: async () => (await import("./run-list.ts")).runList,
  },
  "waiting-10k": {
    summary: "ten thousand waiting requests: memory per request, wake-up time, and responses after SIGTERM",
    load: async () => (await import("./waiting-10k.ts")).waiting,
  },
  recovery: {
    summary: "time from a worker's death until its runs are claimed again, and from a database crash to the next run",
    load: async () => (await import("./recovery.ts")).recovery,
  },
  "search-latency": {
    summary: "how long a search takes, compared with plain full-text search over the same prompts",
    load: async () => (await import("./search-latency.ts")).searchLatency,
  },
  "search-memory": {
    summary: "the memory that search adds to a process",
    load: async () => (await import("./search-memory.ts")).searchMemory,
  },
  "model-calls": {
    summary: "two thousand model calls in flight in one worker",
    load: async () => (await import("./model-calls.ts")).modelCalls,
  },
  "start-up": {
    summary: "from the start to the first 200, beside a bare Node process with one connection",
    load: async () => (await import("./start-up.ts")).startUp,
  },
  memory: {
    summary: "memory of an idle process after its first start, and its growth over 100,000 runs",
    load: async () => (await import("./memory.ts")).memory,
  },
  fairness: {
    summary: "how long a caller waits while another account attacks with slow hosts, decode bombs, and large bodies",
    load: async () => (await import("./fairness.ts")).fairness,
  },
  followers: {
    summary: "a thousand followers of runs in one process",
    load: async () => (await import("./followers.ts")).followers,
  },
  "steady-five": {
    summary: "a caller that sends exactly five requests per second, over two processes",
    load: async () => (await import("./steady-five.ts")).steadyFive,
  },
  admission: {
    summary: "the admission statement compared with an earlier commit's (--before COMMIT)",
    load: async () => (await import("./admission.ts")).admission,
  },
  "publish-folder": {
    summary: "one command that publishes a thousand prompt files, then publishes them again unchanged",
    load: async () => (await import("./publish-folder.ts")).publishFolder,
  },
  "console-pages": {
    summary: "how soon console pages are usable, also on a slow connection (needs Chromium)",
    load: async () => (await import("./console-pages.ts")).consolePages,
  },
} as const satisfies Readonly<Record<string, ListedCase>>;

export type CaseName = keyof typeof CASES;

export const CASE_NAMES = Object.keys(CASES) as CaseName[];
