/** What a model is to this installation, and what it costs. */
export interface ManagedModel {
  readonly model: string;
  readonly modality: string;
  readonly provider: string;
  readonly status: string;
  /** The day on which it ends or has ended; null: no end is known. */
  readonly retiresAt: string | null;
  readonly successor: string | null;
  readonly enabled: boolean;
  /** Credits before the operator's factor; "" when free. */
  readonly price: string;
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
  readonly storage: {
    /** Bytes of the database. */
    readonly databaseBytes: number;
  };
}
