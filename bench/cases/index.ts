/** Every benchmark, with what it measures; it is loaded when it is asked for. */
import type { BenchCase } from "../harness/bench-case.ts";

interface ListedCase {
  readonly summary: string;
  load(): Promise<BenchCase>;
}

export const CASES = {
  "http-edge": {
    summary: "a route without a database, and GET /v1/me with key and rate limit, beside bare node:http",
    load: async () => (await import("./http-edge.ts")).httpEdge,
  },
  "create-run": {
    summary: "create to answer with a model that answers at once, beside genkit, mastra and Portkey's gateway",
    load: async () => (await import("./create-run.ts")).createRunCase,
  },
  "queue-throughput": {
    summary: "runs without HTTP, beside pg-boss and graphile-worker on the same database",
    load: async () => (await import("./queue-throughput.ts")).queueThroughput,
  },
  claims: {
    summary: "what a claim costs with up to 100,000 runs waiting and a million ended",
    load: async () => (await import("./claims.ts")).claims,
  },
  "two-workers": {
    summary: "two worker processes beside one, with runs that wait for their model",
    load: async () => (await import("./two-workers.ts")).twoWorkers,
  },
  "run-list": {
    summary: "pages that the database reads for a list of runs, up to a million of one account",
    load: async () => (await import("./run-list.ts")).runList,
  },
  "waiting-10k": {
    summary: "ten thousand waiting requests: memory of each, how fast an end wakes one, and the answers to SIGTERM",
    load: async () => (await import("./waiting-10k.ts")).waiting,
  },
  recovery: {
    summary: "from the death of a worker to its runs claimed again, and from a crash of the database to a run",
    load: async () => (await import("./recovery.ts")).recovery,
  },
  "search-latency": {
    summary: "how long a search takes, beside plain full text over the same prompts",
    load: async () => (await import("./search-latency.ts")).searchLatency,
  },
  "search-memory": {
    summary: "what search adds to the memory of a process",
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
    summary: "memory of a process that idles after its first start, and how it grows over 100,000 runs",
    load: async () => (await import("./memory.ts")).memory,
  },
  fairness: {
    summary: "what a caller waits while another account attacks with slow hosts, decode bombs and large bodies",
    load: async () => (await import("./fairness.ts")).fairness,
  },
  followers: {
    summary: "a thousand followers of runs in one process",
    load: async () => (await import("./followers.ts")).followers,
  },
  "steady-five": {
    summary: "a caller of exactly five a second, over two processes",
    load: async () => (await import("./steady-five.ts")).steadyFive,
  },
  admission: {
    summary: "the admission statement beside that of an earlier commit (--before COMMIT)",
    load: async () => (await import("./admission.ts")).admission,
  },
  "publish-folder": {
    summary: "one command that publishes a thousand prompt files, and publishes them again unchanged",
    load: async () => (await import("./publish-folder.ts")).publishFolder,
  },
  "console-pages": {
    summary: "how soon pages of the console can be used, also on a slow line (needs Chromium)",
    load: async () => (await import("./console-pages.ts")).consolePages,
  },
} as const satisfies Readonly<Record<string, ListedCase>>;

export type CaseName = keyof typeof CASES;

export const CASE_NAMES = Object.keys(CASES) as CaseName[];
