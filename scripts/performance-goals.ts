/** The project's goals compared with the last records. A goal without a record is listed too; a record from a busy machine judges none. */
import type { Spread } from "../bench/harness/spread.ts";
import { number, spread, table } from "./performance-format.ts";
import { isQuiet, OTHER_WORK_MAX, type ReadRecord, type RecordOf, type Records } from "./performance-records.ts";

type Value = number | null | undefined;

interface Goal<Name extends keyof Records> {
  readonly what: string;
  /** `of`: a limit computed from the record itself, with a description of it. */
  readonly limit: number | { readonly of: (record: RecordOf<Name>) => Value; readonly words: string };
  readonly isLeast: boolean;
  /** Follows both figures, including its space. */
  readonly unit: string;
  /** The value or the median to judge. Null or undefined: the record does not have it. */
  readonly read: (record: RecordOf<Name>) => Spread | Value;
}

type Goals = { readonly [Name in keyof Records]: readonly Goal<Name>[] };

const CREATE_PEERS = [
  ["genkit", 0.9],
  ["mastra", 4],
] as const;
const QUEUE_PEERS = ["pg-boss", "graphile-worker", "graphile-worker, batches"] as const;

const GOALS: Goals = {
  "create-run": [
    ...CREATE_PEERS.map(([peer, limit]) => ({
      what: `Rate at 64 callers, compared with ${peer}`,
      limit,
      isLeast: true,
      unit: "",
      read: ({ besidePeers }: RecordOf<"create-run">) => besidePeers.find(({ name }) => name === peer)?.rate,
    })),
    {
      what: "p50 of one caller: 2.5 times genkit's plus flushing two pages to disk",
      limit: {
        of: ({ loads, flushMs }) => {
          const genkit = loads["genkit one"]?.p50Ms.median;
          return genkit === undefined ? null : 2.5 * genkit + 2 * flushMs.median;
        },
        words: "that sum",
      },
      isLeast: false,
      unit: " ms",
      read: ({ loads }) => loads["promptd one"]?.p50Ms,
    },
    {
      what: "Processor time per run at 64 callers: API, worker, and database",
      limit: 1.5,
      isLeast: false,
      unit: " ms",
      read: ({ loads }) => {
        const many = loads["promptd many"];
        return many === undefined ? null : many.serverMs.median + many.databaseMs.median;
      },
    },
    {
      what: "Rate of one account, compared with 50 accounts",
      limit: 0.8,
      isLeast: true,
      unit: "",
      read: ({ hotAccount }) => hotAccount,
    },
  ],
  "queue-throughput": QUEUE_PEERS.map((peer) => ({
    what: `Queue: rate compared with ${peer}`,
    limit: 2,
    isLeast: true,
    unit: "",
    read: ({ besidePeers }) => besidePeers.find(({ name }) => name === peer)?.rate,
  })),
  "http-edge": [
    {
      what: "Rate of GET /v1/me, compared with the static route",
      limit: 0.45,
      isLeast: true,
      unit: "",
      read: ({ meToStatic }) => meToStatic.rate,
    },
  ],
  claims: [
    {
      what: "Pages that the database reads for a claim: longest queue and history, compared with the shortest",
      limit: 1.5,
      isLeast: false,
      unit: " x",
      read: ({ mostToLeast }) => mostToLeast,
    },
  ],
  "two-workers": [
    {
      what: "Rate of two worker processes, compared with one, with a model that takes 200 ms",
      limit: 1.6,
      isLeast: true,
      unit: "",
      read: ({ twoToOne }) => twoToOne,
    },
  ],
  "run-list": [
    {
      what: "Pages that the database reads for 50 runs, the worst of all lists",
      limit: 60,
      isLeast: false,
      unit: "",
      read: ({ results }) =>
        Math.max(
          ...results.flatMap(({ pages }) => pages.flatMap((page) => [page.buffers, page.buffersUpdated ?? NaN])),
        ),
    },
  ],
  recovery: [
    {
      what: "Time until a dead worker's run is claimed again, p99",
      limit: 10,
      isLeast: false,
      unit: " s",
      read: ({ reclaimMs }) => reclaimMs.p99 / 1_000,
    },
  ],
  "start-up": [
    {
      what: "Start to first 200, compared with a bare Node process",
      limit: 3,
      isLeast: false,
      unit: " x",
      read: ({ starts }) => starts.find(({ name }) => name === "promptd")?.besideBare,
    },
  ],
  memory: [
    {
      what: "Idle memory after a first start, without the database",
      limit: 150,
      isLeast: false,
      unit: " MiB",
      read: ({ idleMib }) => idleMib.promptd,
    },
    {
      what: "Memory after 10,000 runs, compared with before",
      limit: 1.1,
      isLeast: false,
      unit: " x",
      read: ({ growth }) => growth,
    },
  ],
  "waiting-10k": [
    {
      what: "Memory per waiting request",
      limit: 20,
      isLeast: false,
      unit: " kB",
      read: ({ bytesPerWait }) => bytesPerWait / 1_000,
    },
  ],
};

const ABOUT = `Only a record from a quiet machine, where other work used at most ${OTHER_WORK_MAX} cores before and after it, judges a goal.`;

export function describeGoals(read: ReadRecord): string {
  const rows = (Object.keys(GOALS) as (keyof Records)[]).flatMap((name) => rowsOf(name, read(name)));
  return `${table(["Goal", "Target", "Measured", ""], rows)}\n\n${ABOUT}`;
}

function rowsOf<Name extends keyof Records>(name: Name, record: RecordOf<Name> | null): string[][] {
  return GOALS[name].map((goal) => [goal.what, ...cellsOf(goal, record)]);
}

/** The target, the measurement, and the verdict. */
function cellsOf<Name extends keyof Records>(goal: Goal<Name>, record: RecordOf<Name> | null): string[] {
  const { limit, unit, isLeast } = goal;
  const bound = isLeast ? "at least" : "at most";
  const most = typeof limit === "number" ? limit : record === null ? null : limit.of(record);
  const wanted = isValue(most)
    ? `${bound} ${number(most)}${unit}`
    : `${bound} ${typeof limit === "number" ? number(limit) : limit.words}`;
  const measured = record === null ? null : goal.read(record);
  const value = isSpread(measured) ? measured.median : measured;
  if (record === null || !isValue(value) || !isValue(most)) return [wanted, "not measured", ""];
  const figure = `${isSpread(measured) ? spread(measured) : number(value)}${unit}`;
  if (!isQuiet(record)) return [wanted, `${figure}, busy machine`, "not judged"];
  return [wanted, figure, (isLeast ? value >= most : value <= most) ? "met" : "**missed**"];
}

function isSpread(value: Spread | Value): value is Spread {
  return typeof value === "object" && value !== null;
}

/** Not NaN, which is the result of missing measurements. */
function isValue(value: Value): value is number {
  return typeof value === "number" && Number.isFinite(value);
}
