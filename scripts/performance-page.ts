/** The measured parts of docs/performance.md, from the last records. Losses stand beside wins, each with its machine. */
import { readRecord, type Machine, type RecordOf, type Records, type Spread } from "./performance-records.ts";

/** Cores: with more than this, others took processor time away. */
const OTHER_WORK_MAX = 0.2;

export function isQuiet({ otherWork }: Machine): boolean {
  return Math.max(otherWork.before, otherWork.after) <= OTHER_WORK_MAX;
}

function describeMachine(machine: Machine): string {
  const { memoryGb, kernel, isVirtual, otherWork, node, database, commit, at, flushMs } = machine;
  const parts = [
    `${machine.machine}${isVirtual ? " (virtual)" : ""}`,
    `${memoryGb} GiB`,
    `Linux ${kernel.split("-")[0]}`,
    `Node ${node.replace("v", "")}`,
    database,
    `a page to the disk ${number(flushMs.median)} ms`,
    `${otherWork.before} and ${otherWork.after} cores busy with other work before and after`,
    commit === "with changes" ? "uncommitted changes" : `commit ${commit}`,
    at.slice(0, 10),
  ];
  return parts.join(", ");
}

function machineLine(machine: Machine): string {
  const busy = isQuiet(machine)
    ? ""
    : " **A busy machine**: other work ran beside it, so these figures are for orientation only.";
  return `*${describeMachine(machine)}.*${busy}`;
}

/** Three digits. */
function number(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString("en-US", { maximumFractionDigits: 3 });
}

function spread({ median, min, max }: Spread): string {
  return `${number(median)} (${number(min)} to ${number(max)})`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), `|${head.map(() => "---").join("|")}|`, ...rows.map(line)].join("\n");
}

type Section = readonly [title: string, command: string, body: string | null];

export function describePerformance(): string {
  const sections: readonly Section[] = [
    ["Create to answer", "create-run --peers", show("create-run", describeCreate)],
    ["Without HTTP", "queue-throughput --peers", show("queue-throughput", describeQueue)],
    ["The edge", "http-edge", show("http-edge", describeEdge)],
    ["Lists", "run-list", show("run-list", describeList)],
    ["When something dies", "recovery", show("recovery", describeRecovery)],
    ["Start", "start-up", show("start-up", describeStart)],
    ["Memory", "memory", show("memory", describeMemory)],
    ["Waiting requests", "waiting-10k", show("waiting-10k", describeWaiting)],
  ];
  const texts = sections.map(
    ([title, command, body]) =>
      `## ${title}\n\n\`npm run bench -- ${command}\`\n\n${body ?? "Not measured yet in this form."}`,
  );
  return [`## Goals\n\n${describeGoals()}`, ...texts].join("\n\n");
}

/** With its machine. Null: there is no record. */
function show<Name extends keyof Records>(name: Name, describe: (record: RecordOf<Name>) => string): string | null {
  const record = readRecord(name);
  return record === null ? null : `${describe(record)}\n\n${machineLine(record)}`;
}

interface Goal {
  readonly what: string;
  readonly wanted: string;
  readonly measured: string;
  readonly isMet: boolean;
}

function atLeast(what: string, limit: number, measured: Spread): Goal {
  return { what, wanted: `at least ${limit}`, measured: spread(measured), isMet: measured.median >= limit };
}

function atMost(what: string, [limit, unit]: readonly [number, string], measured: number): Goal {
  return {
    what,
    wanted: `at most ${number(limit)}${unit}`,
    measured: `${number(measured)}${unit}`,
    isMet: measured <= limit,
  };
}

const EACH_GOAL: readonly (() => readonly Goal[])[] = [
  () => goalsOf("create-run", goalsOfCreate),
  () =>
    goalsOf("queue-throughput", ({ besidePeers }) =>
      besidePeers.map(({ name, rate }) => atLeast(`Queue: rate beside ${name}`, 2, rate)),
    ),
  () =>
    goalsOf("http-edge", ({ meToStatic }) => [
      atLeast("Rate of GET /v1/me beside the static route", 0.45, meToStatic.rate),
    ]),
  () =>
    goalsOf("run-list", ({ results }) => [
      atMost(
        "Pages that the database reads for 50 runs, the most of all lists",
        [60, ""],
        Math.max(...results.flatMap(({ pages }) => pages.flatMap((page) => [page.buffers, page.buffersUpdated]))),
      ),
    ]),
  () =>
    goalsOf("recovery", ({ reclaimMs }) => [
      atMost("A dead worker's run claimed again, p99", [10, " s"], reclaimMs.p99 / 1_000),
    ]),
  () =>
    goalsOf("start-up", ({ starts }) =>
      starts
        .filter(({ name }) => name === "promptd")
        .map(({ besideBare }) =>
          atMost("Start to first 200, beside a bare Node process", [3, " x"], besideBare.median),
        ),
    ),
  () =>
    goalsOf("memory", ({ idleMib, growth }) => [
      atMost("Memory idle after a first start", [150, " MiB"], idleMib.promptd),
      ...(growth === null ? [] : [atMost("Memory after 10,000 runs beside before", [1.1, " x"], growth)]),
    ]),
  () =>
    goalsOf("waiting-10k", ({ bytesPerWait }) => [
      atMost("Memory of a waiting request", [20, " kB"], bytesPerWait / 1_000),
    ]),
];

function goalsOf<Name extends keyof Records>(
  name: Name,
  describe: (record: RecordOf<Name>) => readonly Goal[],
): readonly Goal[] {
  const record = readRecord(name);
  if (record === null) return [];
  return describe(record).map((goal) =>
    isQuiet(record) ? goal : { ...goal, measured: `${goal.measured}, busy machine` },
  );
}

function goalsOfCreate({ loads, besidePeers, hotAccount, flushMs }: RecordOf<"create-run">): Goal[] {
  const rateBeside = (name: string, limit: number) =>
    besidePeers
      .filter((peer) => peer.name === name)
      .map(({ rate }) => atLeast(`Rate at 64 callers beside ${name}`, limit, rate));
  const [many, one, genkit] = [loads["promptd many"], loads["promptd one"], loads["genkit one"]];
  return [
    ...rateBeside("genkit", 0.9),
    ...rateBeside("mastra", 4),
    ...(one === undefined || genkit === undefined
      ? []
      : [
          atMost(
            "p50 of one caller: 2.5 times genkit's and two pages to the disk",
            [2.5 * genkit.p50Ms.median + 2 * flushMs.median, " ms"],
            one.p50Ms.median,
          ),
        ]),
    ...(many === undefined
      ? []
      : [
          atMost(
            "Processor time of a run at 64 callers, API, worker and database",
            [1.5, " ms"],
            many.serverMs.median + many.databaseMs.median,
          ),
        ]),
    atLeast("Rate of one account beside that of 50", 0.8, hotAccount),
  ];
}

function describeGoals(): string {
  const goals = EACH_GOAL.flatMap((read) => read());
  if (goals.length === 0) return "Not measured yet.";
  return table(
    ["Goal", "Wanted", "Measured", ""],
    goals.map(({ what, wanted, measured, isMet }) => [what, wanted, measured, isMet ? "met" : "**missed**"]),
  );
}

function describeCreate({ loads, besidePeers }: RecordOf<"create-run">): string {
  const versionOf = (name: string) => besidePeers.find((peer) => peer.name === name)?.version ?? "";
  const kinds: Readonly<Record<string, string>> = { one: "1", many: "64", hot: "64 of one account" };
  const rows = Object.entries(loads).map(([visit, load]) => {
    const [name, kind] = [visit.slice(0, visit.lastIndexOf(" ")), visit.slice(visit.lastIndexOf(" ") + 1)];
    return [
      `${name} ${versionOf(name)}`.trim(),
      kinds[kind] ?? kind,
      spread(load.perSecond),
      spread(load.p50Ms),
      number(load.p95Ms.median),
      number(load.serverMs.median),
      name === "promptd" ? number(load.databaseMs.median) : "none",
      number(load.loadMs.median),
    ];
  });
  const head = ["Server", "Callers", "Requests a second", "p50 ms", "p95 ms", "CPU ms: server", "database", "caller"];
  return `${table(head, rows)}\n\n"model server" is the server that all of them ask, asked directly: it bounds nobody. Processor times are those of one request.`;
}

function describeQueue({ queues }: RecordOf<"queue-throughput">): string {
  return table(
    ["Queue", "Jobs a second", "Sent to done p50 ms", "p95 ms", "CPU ms: process", "database"],
    queues.map(({ name, version, perSecond, p50Ms, p95Ms, processMs, databaseMs }) => [
      `${name} ${version ?? ""}`.trim(),
      spread(perSecond),
      spread(p50Ms),
      number(p95Ms.median),
      number(processMs.median),
      number(databaseMs.median),
    ]),
  );
}

function describeEdge({ targets }: RecordOf<"http-edge">): string {
  return table(
    ["Route", "Requests a second", "p50 ms", "CPU ms: server", "database"],
    Object.entries(targets).map(([name, load]) => [
      name,
      spread(load.perSecond),
      spread(load.p50Ms),
      number(load.serverMs.median),
      number(load.databaseMs.median),
    ]),
  );
}

function describeList({ results, selectOneMs }: RecordOf<"run-list">): string {
  const rows = results.flatMap(({ runs, pages }) =>
    pages.map(({ name, buffers, buffersUpdated, ms }) => [
      runs.toLocaleString("en-US"),
      name,
      String(buffers),
      String(buffersUpdated),
      number(ms.median),
    ]),
  );
  const head = ["Runs of the account", "List of 50", "Pages read", "After a tenth was updated", "p50 ms"];
  return `${table(head, rows)}\n\nPages are those of 8 kB that the database looks at. \`select 1\` takes ${number(selectOneMs.median)} ms.`;
}

function describeRecovery({ leaseMs, reclaimMs, crashMs }: RecordOf<"recovery">): string {
  return table(
    ["From", "To", "Seconds"],
    [
      [
        `SIGKILL of the worker (lease ${leaseMs / 1_000} s)`,
        "its runs claimed by another one",
        `${spread(inSeconds(reclaimMs))}, p99 ${number(reclaimMs.p99 / 1_000)}`,
      ],
      ["crash of the database", "the first run that is answered", spread(inSeconds(crashMs))],
    ],
  );
}

function inSeconds({ median, min, max }: Spread): Spread {
  return { median: median / 1_000, min: min / 1_000, max: max / 1_000 };
}

function describeStart({ starts }: RecordOf<"start-up">): string {
  return table(
    ["Process", "Start to first 200, ms", "Beside bare Node"],
    starts.map(({ name, ms, besideBare }) => [name, spread(ms), spread(besideBare)]),
  );
}

function describeMemory({ idleMib, growth, sizes }: RecordOf<"memory">): string {
  const grown =
    growth === null ? "" : ` Over ${number(sizes.runs)} runs the most is ${growth} times the most of the first 10,000.`;
  return `Idle after its first start promptd holds ${number(idleMib.promptd)} MiB, a bare Node process with one connection ${number(idleMib.bareNode)} MiB.${grown}`;
}

function describeWaiting({ bytesPerWait, bareNodeHttp, wakeMs, sigterm, sizes }: RecordOf<"waiting-10k">): string {
  return `${number(sizes.waits)} requests wait in one process: ${number(bytesPerWait / 1_000)} kB each (node:http alone ${number(bareNodeHttp.bytesPerWait / 1_000)} kB). The end of a run reaches its caller after ${wakeMs.p50} ms (p50) and ${wakeMs.p99} ms (p99); SIGTERM answers all of them in ${number(sigterm.ms / 1_000)} s.`;
}
