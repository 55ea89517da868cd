import type { ListRunsQuery } from "../runs.ts";
import type { ManagedCredits } from "./credits.ts";
import type { AccountOfInstallation } from "./accounts.ts";
import type { Member } from "./members.ts";
import type { AskedLink } from "./people.ts";
import type { ManagedRun, ManagedRunRow, NamesOfRun } from "./runs.ts";

/** What a model is to this installation, and what it costs. */
export interface ManagedModel {
  readonly model: string;
  readonly modality: string;
  readonly provider: string;
  readonly status: string;
  /** The day on which it ends or has ended; null: no end is known. */
  readonly retiresAt: string | null;
  readonly successor: string | null;
  /** Runs of it can be made: its provider is configured, and no operator has switched it off. */
  readonly enabled: boolean;
  /** An operator has switched it off. */
  readonly isOff: boolean;
  /** Credits before the operator's factor; "" when free. */
  readonly price: string;
}

export interface ModelSwitchBody {
  readonly model: string;
  readonly isOff: boolean;
}

/** What became of the mails that were to be sent. */
export interface MailState {
  /** Not delivered yet. */
  readonly waiting: number;
  /** Given up in the last seven days. */
  readonly givenUp: number;
  /** What the mail server said last when it did not take a mail; null: it took all. */
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
    /** Runs it works on. */
    readonly running: number;
  }[];
  readonly queue: {
    /** Runs that wait for a worker, counted up to 10,000. */
    readonly waiting: number;
    /** When the longest waiting one was created; null: none waits. */
    readonly oldestAt: string | null;
    readonly running: number;
  };
  /** Runs of the last hour that failed, by cause, most first. */
  readonly failures: readonly { readonly cause: string; readonly model: string; readonly runs: number }[];
  readonly mail: MailState;
  /** Who has asked for a new password in the last seven days and has no link yet, the longest first; 20 at most. */
  readonly askedLinks: readonly AskedLink[];
  /** Operators who came by a link and have no password, passkey or sign-in service; 20 at most. */
  readonly operatorsWithoutSignIn: readonly { readonly personId: string; readonly email: string }[];
  readonly storage: {
    /** Bytes of the database. */
    readonly databaseBytes: number;
  };
}

export interface ModelTestBody {
  readonly model: string;
}

/** How one small call of a model went. */
export interface ModelTest {
  readonly model: string;
  readonly isAnswered: boolean;
  readonly tookMs: number;
  /** What the provider takes for it, by the prices of the catalogue; no account pays it. */
  readonly costCredits: number;
  /** The beginning of its answer. */
  readonly text: string | null;
  readonly pictureBytes: number | null;
  /** Why it failed, in one word: as in `outcome` of a call, or `refused`; null: it answered. */
  readonly cause: string | null;
  readonly httpStatus: number | null;
  readonly providerCode: string | null;
}

/** A run as operators find it, of whichever account: what became of it and why, never what was asked or made. */
export interface InstallationRunRow extends ManagedRunRow {
  readonly accountId: string;
  readonly accountEmail: string;
  /** Why it failed, in one word for the operator; null unless it failed. */
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
  /** Null: it has not ended, or nobody knows. */
  readonly endedAt: string | null;
  /** `text`, `image`, `video`, `refused` or the cause of its failure; null while it is open. */
  readonly outcome: string | null;
  readonly httpStatus: number | null;
  /** The provider's own code and id, for a question to its support. */
  readonly providerCode: string | null;
  readonly providerRequestId: string | null;
}

export interface InstallationRun extends InstallationRunRow, NamesOfRun {
  /** More of the cause, such as the host of an image that could not be fetched, and why; null: nothing more is known. */
  readonly causeDetail: string | null;
  readonly runOptions: Readonly<Record<string, string>>;
  readonly timeline: ManagedRun["timeline"];
  readonly receipt: ManagedRun["receipt"];
  readonly calls: readonly CallOfRun[];
}

export interface ListInstallationRunsQuery extends Omit<ListRunsQuery, "include"> {
  /** Of a run, or of the request that created it. */
  readonly id?: string | undefined;
  readonly accountId?: string | undefined;
  readonly model?: string | undefined;
  readonly cause?: string | undefined;
}

/** What calls of a model came to in the last hour. */
export interface ModelHealth {
  readonly model: string;
  readonly calls: number;
  /** Refusals of an input and canceled calls are not failures of the model. */
  readonly failed: number;
  /** Of calls that went well; null: none did. */
  readonly medianMs: number | null;
  /** The last failure; null: there was none. */
  readonly lastFailure: {
    readonly at: string;
    readonly outcome: string;
    readonly httpStatus: number | null;
    readonly providerCode: string | null;
  } | null;
  /** By five minutes, the oldest first: 12 of them. */
  readonly history: readonly { readonly calls: number; readonly failed: number }[];
}

/** An account with what an operator must know before changing anything. */
export interface AccountDetail extends AccountOfInstallation {
  readonly credits: ManagedCredits;
  readonly members: readonly Member[];
}

/** What a run would cost. */
export interface RunQuote {
  /** Credits that a run like this usually costs; 0 when free. */
  readonly estimate: number;
  /** Credits that are set aside for it; null: it is free. */
  readonly hold: number | null;
}
