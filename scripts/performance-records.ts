/** The last records of `npm run bench` that the page on performance shows, as bench/results/ has them. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const RESULTS = join(import.meta.dirname, "../bench/results");

/** Of several rounds. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export interface Machine {
  readonly machine: string;
  readonly memoryGb: number;
  readonly kernel: string;
  readonly isVirtual: boolean;
  /** Cores that others kept busy. */
  readonly otherWork: { readonly before: number; readonly after: number };
  readonly node: string;
  readonly database: string;
  readonly commit: string;
  readonly at: string;
  /** How long a page of a journal takes to the disk. */
  readonly flushMs: Spread;
}

type LoadSpread = Readonly<
  Record<"perSecond" | "p50Ms" | "p95Ms" | "serverMs" | "databaseMs" | "modelsMs" | "loadMs", Spread>
>;

export interface PeerRatio {
  readonly name: string;
  readonly rate: Spread;
}

export interface Records {
  readonly "create-run": {
    readonly loads: Readonly<Record<string, LoadSpread>>;
    readonly hotAccount: Spread;
    readonly besidePeers: readonly (PeerRatio & { readonly version: string })[];
  };
  readonly "http-edge": {
    readonly targets: Readonly<Record<string, LoadSpread>>;
    readonly meToStatic: { readonly rate: Spread };
  };
  readonly "queue-throughput": {
    readonly queues: readonly (Readonly<
      Record<"perSecond" | "p50Ms" | "p95Ms" | "processMs" | "databaseMs", Spread>
    > & { readonly name: string; readonly version?: string | null })[];
    readonly besidePeers: readonly PeerRatio[];
  };
  readonly "run-list": {
    readonly results: readonly {
      readonly runs: number;
      readonly pages: readonly {
        readonly name: string;
        readonly buffers: number;
        readonly buffersUpdated: number;
        readonly ms: Spread;
      }[];
    }[];
    readonly selectOneMs: Spread;
  };
  readonly recovery: {
    readonly leaseMs: number;
    readonly reclaimMs: Spread & { readonly p99: number };
    readonly crashMs: Spread;
  };
  readonly "start-up": {
    readonly starts: readonly { readonly name: string; readonly ms: Spread; readonly besideBare: Spread }[];
  };
  readonly memory: {
    readonly idleMib: { readonly promptd: number; readonly bareNode: number };
    readonly growth: number | null;
    readonly sizes: { readonly runs: number };
  };
  readonly "waiting-10k": {
    readonly bytesPerWait: number;
    readonly bareNodeHttp: { readonly bytesPerWait: number };
    readonly wakeMs: { readonly p50: number; readonly p99: number };
    readonly sigterm: { readonly ms: number };
    readonly sizes: { readonly waits: number };
  };
}

export type RecordOf<Name extends keyof Records> = Records[Name] & Machine;

/** Null: there is none, or only one of an earlier form, which does not say of what it is. */
export function readRecord<Name extends keyof Records>(name: Name): RecordOf<Name> | null {
  const file = join(RESULTS, `${name}.json`);
  if (!existsSync(file)) return null;
  const record = JSON.parse(readFileSync(file, "utf8")) as RecordOf<Name> & { readonly case?: string };
  return record.case === name ? record : null;
}
