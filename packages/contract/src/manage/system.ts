import type { ListRunsQuery } from "../runs.ts";
import type { ManagedCredits } from "./credits.ts";
import type { AccountOfInstallation } from "./accounts.ts";
import type { Member } from "./members.ts";
import type { AskedLink } from "./people.ts";
import type { ManagedRun, ManagedRunRow, NamesOfRun } from "./runs.ts";

/** A model's state on this installation, and its price. */
export interface ManagedModel {
  readonly model: string;
  readonly modality: string;
  readonly provider: string;
  readonly status: string;
  /** The model's end date; null: none is known. */
  readonly retiresAt: string | null;
  readonly successor: string | null;
  /** The model can run: its provider is configured, and no operator has switched it off. */
  readonly enabled: boolean;
  /** An operator switched the model off. */
  readonly isOff: boolean;
  /** In credits, before the operator's factor; "" when free. */
  readonly price: string;
}

export interface ModelSwitchBody {
  readonly model: string;
  readonly isOff: boolean;
}

/** The state of outgoing mail. */
export interface MailState {
  /** Not delivered yet. */
  readonly waiting: number;
  /** Given up in the last seven days. */
  readonly givenUp: number;
  /** The mail server's most recent rejection; null: it accepted all mail. */
  readonly lastFault: { readonly text: string; readonly at: string } | null;
}

export interface SystemState {
  readonly version: string;
  readonly now: string;
  readonly workers: readonly {
    readonly workerId: string;
    readonly host: string;
    readonly pid: number;
    readonly version: string;
    readonly isDraining: boolean;
    readonly startedAt: string;
    readonly heartbeatAt: string;
    /** Runs that the worker executes. */
    readonly running: number;
  }[];
  readonly queue: {
    /** Runs waiting for a worker, counted up to 10,000. */
    readonly waiting: number;
    /** When the longest-waiting run was created; null: no run waits. */
    readonly oldestAt: string | null;
    readonly running: number;
  };
  /** Failed runs in the last hour by cause, most frequent first. */
  readonly failures: readonly { readonly cause: string; readonly model: string; readonly runs: number }[];
  readonly mail: MailState;
  /**
   * People who requested a new password in the last seven days and have no link yet, longest waiting first; at most 20.
   */
  readonly askedLinks: readonly AskedLink[];
  /** Operators who signed in with a link and have no password, passkey, or sign-in service; at most 20. */
  readonly operatorsWithoutSignIn: readonly { readonly personId: string; readonly email: string }[];
  readonly storage: {
    /** Database size in bytes. */
    readonly databaseBytes: number;
  };
}

export interface ModelTestBody {
  readonly model: string;
}

/** The result of one test call. */
export interface ModelTest {
  readonly model: string;
  readonly isAnswered: boolean;
  readonly tookMs: number;
  /** What the provider charges at catalogue prices. No account pays it. */
  readonly costCredits: number;
  /** The start of the model's answer. */
  readonly text: string | null;
  readonly pictureBytes: number | null;
  /** Why the call failed, in one word: as in a call's `outcome`, or `refused`; null: it succeeded. */
  readonly cause: string | null;
  readonly httpStatus: number | null;
  readonly providerCode: string | null;
}

/** A run of any account, as operators see it: its outcome and cause, never its inputs or outputs. */
export interface InstallationRunRow extends ManagedRunRow {
  readonly accountId: string;
  readonly accountEmail: string;
  /** Why the run failed, in one word for the operator; null unless it failed. */
  readonly cause: string | null;
}

/** One request to a provider. */
export interface CallOfRun {
  readonly attempt: number;
  /** Both count from 0. */
  readonly step: number;
  readonly item: number;
  readonly model: string;
  readonly provider: string;
  readonly sentAt: string;
  /** Null: not ended, or unknown. */
  readonly endedAt: string | null;
  /** `text`, `image`, `video`, `refused`, or the cause of failure; null while the call is open. */
  readonly outcome: string | null;
  readonly httpStatus: number | null;
  /** The provider's own error code and request id, for its support. */
  readonly providerCode: string | null;
  readonly providerRequestId: string | null;
  /** Null: not known. */
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
}

export interface InstallationRun extends InstallationRunRow, NamesOfRun {
  /** Details of the cause, such as the host of an image that could not be fetched, and why; null: none are known. */
  readonly causeDetail: string | null;
  readonly runOptions: Readonly<Record<string, string>>;
  readonly timeline: ManagedRun["timeline"];
  readonly receipt: ManagedRun["receipt"];
  readonly calls: readonly CallOfRun[];
}

export interface ListInstallationRunsQuery extends Omit<ListRunsQuery, "include"> {
  /** The id of a run, or of the request that created it. */
  readonly id?: string | undefined;
  readonly accountId?: string | undefined;
  readonly model?: string | undefined;
  readonly cause?: string | undefined;
}

/** A model's calls in the last hour. */
export interface ModelHealth {
  readonly model: string;
  readonly calls: number;
  /** Rejected inputs and canceled calls do not count as failures. */
  readonly failed: number;
  /** Of successful calls; null: there were none. */
  readonly medianMs: number | null;
  /** The last failure; null: there was none. */
  readonly lastFailure: {
    readonly at: string;
    readonly outcome: string;
    readonly httpStatus: number | null;
    readonly providerCode: string | null;
  } | null;
  /** 12 intervals of five minutes, oldest first; each ends at a multiple of five minutes, the last one contains now. */
  readonly history: readonly { readonly calls: number; readonly failed: number }[];
}

/** An account with everything an operator needs to know before changing it. */
export interface AccountDetail extends AccountOfInstallation {
  readonly credits: ManagedCredits;
  readonly members: readonly Member[];
}

/** What a run would cost. */
export interface RunQuote {
  /** Typical cost of such a run in credits; 0 when free. */
  readonly estimate: number;
  /** Credits that would be held; null: the run is free. */
  readonly hold: number | null;
}
