/** The measured parts of docs/performance.md, from the last records. Losses are listed next to wins, each with its machine. */
import type { Spread } from "../bench/harness/spread.ts";
import { number, spread, table } from "./performance-format.ts";
import { describeGoals } from "./performance-goals.ts";
import {
  isQuiet,
  readRecord,
  type Machine,
  type ReadRecord,
  type RecordOf,
  type Records,
} from "./performance-records.ts";

function describeMachine(machine: Machine): string {
  const { memoryGb, kernel, isVirtual, otherWork, node, database, commit, at, flushMs, sizes } = machine;
  const parts = [
    ...Object.entries(sizes).map(([name, size]) => `${name} ${size.toLocaleString("en-US")}`),
    `${machine.machine}${isVirtual ? " (virtual)" : ""}`,
    `${memoryGb} GiB`,
    `Linux ${kernel.split("-")[0]}`,
    `Node ${node.replace("v", "")}`,
    database,
    `flushing a page to disk ${number(flushMs.median)} ms`,
    `${otherWork.before} and ${otherWork.after} cores used by other work before and after`,
    commit === "with changes" ? "uncommitted changes" : `commit ${commit}`,
    at.slice(0, 10),
  ];
  return parts.join(", ");
}

function machineLine(machine: Machine): string {
  const busy = isQuiet(machine)
    ? ""
    : " **A busy machine**: other work ran at the same time, so these figures are only a rough guide.";
  return `*${describeMachine(machine)}.*${busy}`;
}

type Section = readonly [title: string, command: string, body: string | null];

export function describePerformance(read: ReadRecord = readRecord): string {
  const show = showOf(read);
  const sections: readonly Section[] = [
    ["From create to result", "create-run --peers", show("create-run", describeCreate)],
    ["Without HTTP", "queue-throughput --peers", show("queue-throughput", describeQueue)],
    ["Claims", "claims", show("claims", describeClaims)],
    ["Two workers", "two-workers", show("two-workers", describeTwoWorkers)],
    ["The edge", "http-edge", show("http-edge", describeEdge)],
    ["Lists", "run-list", show("run-list", describeList)],
    ["When something dies", "recovery", show("recovery", describeRecovery)],
    ["Start", "start-up", show("start-up", describeStart)],
    ["Memory", "memory", show("memory", describeMemory)],
    ["Waiting requests", "waiting-10k", show("waiting-10k", describeWaiting)],
  ];
  const texts = sections.map(
    ([title, command, body]) =>
      `## ${title}\n\n\`npm run bench -- ${command}\`\n\n${body ?? "Not yet measured in this form."}`,
  );
  return [`## Goals\n\n${describeGoals(read)}`, ...texts].join("\n\n");
}

/** Describes a record and its machine. Null: there is no record. */
function showOf(read: ReadRecord) {
  return <Name extends keyof Records>(name: Name, describe: (record: RecordOf<Name>) => string): string | null => {
    const record = read(name);
    return record === null ? null : `${describe(record)}\n\n${machineLine(record)}`;
  };
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
      load.databaseMs.median > 0 ? number(load.databaseMs.median) : "none",
      name === "model server" ? "itself" : number(load.modelsMs.median),
      number(load.loadMs.median),
    ];
  });
  const times = ["CPU ms: server", "database", "model server", "caller"];
  const head = ["Server", "Callers", "Requests per second", "p50 ms", "p95 ms", ...times];
  const text = `${table(head, rows)}\n\n"model server" is the server that all of them call, called directly: it limits none of them. Processor times are per request.`;
  if (besidePeers.length === 0) return text;
  const ratios = besidePeers.map((peer) => [
    peer.name,
    spread(peer.rate),
    spread(peer.p50OfOne),
    spread(peer.serverMs),
  ]);
  const ratioHead = [
    "promptd compared with",
    "Rate of 64 callers",
    "p50 of one caller",
    "CPU of the server, 64 callers",
  ];
  return `${text}\n\n${table(ratioHead, ratios)}`;
}

const DONE =
  "A promptd job counts as done once the transaction that ends its run is committed; a peer's job once its handler ends, a moment before that is stored.";

function describeQueue({ queues, besidePeers }: RecordOf<"queue-throughput">): string {
  const text = table(
    ["Queue", "Jobs per second", "Sent to done p50 ms", "p95 ms", "CPU ms: process", "database"],
    queues.map(({ name, version, perSecond, p50Ms, p95Ms, processMs, databaseMs }) => [
      `${name} ${version ?? ""}`.trim(),
      spread(perSecond),
      spread(p50Ms),
      number(p95Ms.median),
      number(processMs.median),
      number(databaseMs.median),
    ]),
  );
  const ratios = besidePeers.map(({ name, rate }) => [name, spread(rate)]);
  return [text, DONE, ...(ratios.length === 0 ? [] : [table(["promptd compared with", "Rate"], ratios)])].join("\n\n");
}

function describeClaims({ results }: RecordOf<"claims">): string {
  const text = table(
    ["Waiting runs", "Ended runs", "Pages read", "ms"],
    results.map(({ queued, ended, pages, ms }) => [
      queued.toLocaleString("en-US"),
      ended.toLocaleString("en-US"),
      number(pages),
      spread(ms),
    ]),
  );
  return `${text}\n\nOne claim of ten runs, with 50 accounts. Pages are 8 kB database pages that the statement reads.`;
}

function describeTwoWorkers({ perSecond, sizes }: RecordOf<"two-workers">): string {
  const text = table(
    ["Worker processes", "Runs per second"],
    [
      ["1", spread(perSecond.one)],
      ["2", spread(perSecond.two)],
    ],
  );
  return `${text}\n\nRuns from a full queue whose model takes ${number(sizes.modelMs)} ms. One process runs 200 at once.`;
}

function describeEdge({ targets, meToStatic, staticToBare }: RecordOf<"http-edge">): string {
  const text = table(
    ["Route", "Requests per second", "p50 ms", "CPU ms: server", "database"],
    Object.entries(targets).map(([name, load]) => [
      name,
      spread(load.perSecond),
      spread(load.p50Ms),
      number(load.serverMs.median),
      number(load.databaseMs.median),
    ]),
  );
  const ratios = [
    ["GET /v1/me compared with the static route", spread(meToStatic.rate), spread(meToStatic.serverMs)],
    ["the static route compared with bare node:http", spread(staticToBare.rate), spread(staticToBare.serverMs)],
  ];
  return `${text}\n\n${table(["Ratio", "Rate", "CPU of the server"], ratios)}`;
}

function describeList({ results, selectOneMs }: RecordOf<"run-list">): string {
  const rows = results.flatMap(({ runs, pages }) =>
    pages.map(({ name, buffers, buffersUpdated, ms }) => [
      runs.toLocaleString("en-US"),
      name,
      number(buffers),
      number(buffersUpdated),
      number(ms.median),
    ]),
  );
  const head = ["Runs of the account", "List of 50", "Pages read", "After updating a tenth", "p50 ms"];
  return `${table(head, rows)}\n\nPages are 8 kB database pages that the statement reads. \`select 1\` takes ${number(selectOneMs.median)} ms.`;
}

function describeRecovery({ leaseMs, reclaimMs, crashMs }: RecordOf<"recovery">): string {
  return table(
    ["From", "To", "Seconds"],
    [
      [
        `SIGKILL of the worker (lease ${leaseMs / 1_000} s)`,
        "another worker claims its runs",
        `${spread(inSeconds(reclaimMs))}, p99 ${number(reclaimMs.p99 / 1_000)}`,
      ],
      ["database crash", "the first run returns its result", spread(inSeconds(crashMs))],
    ],
  );
}

function inSeconds({ median, min, max }: Spread): Spread {
  return { median: median / 1_000, min: min / 1_000, max: max / 1_000 };
}

function describeStart({ starts }: RecordOf<"start-up">): string {
  return table(
    ["Process", "Start to first 200, ms", "Compared with bare Node"],
    starts.map(({ name, ms, besideBare }) => [name, spread(ms), spread(besideBare)]),
  );
}

function describeMemory({ idleMib, growth, sizes }: RecordOf<"memory">): string {
  const grown =
    growth === null
      ? ""
      : ` Over ${number(sizes.runs)} runs, peak memory is ${number(growth)} times the peak of the first 10,000.`;
  return `Idle after its first start, promptd uses ${number(idleMib.promptd)} MiB without its database; a bare Node process with one connection uses ${number(idleMib.bareNode)} MiB.${grown}`;
}

function describeWaiting({ bytesPerWait, bareNodeHttp, wakeMs, sigterm, sizes }: RecordOf<"waiting-10k">): string {
  return `${number(sizes.waits)} requests wait in one process: ${number(bytesPerWait / 1_000)} kB each (node:http alone ${number(bareNodeHttp.bytesPerWait / 1_000)} kB). A caller gets the end of its run after ${number(wakeMs.p50)} ms (p50) and ${number(wakeMs.p99)} ms (p99); after SIGTERM, all of them have a response in ${number(sigterm.ms / 1_000)} s.`;
}
