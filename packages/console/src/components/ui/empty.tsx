import { CircleAlert, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "./button.tsx";

interface EmptyProps {
  readonly icon: LucideIcon;
  readonly title: string;
  readonly children?: ReactNode;
  /** The single next action. */
  readonly action?: ReactNode;
}

/** Shown where there is nothing yet: what will be here, and how to get it. */
export function Empty({ icon: Icon, title, children, action }: EmptyProps) {
  return (
    <div className="grid justify-items-center gap-1 px-4 py-10 text-center text-dim">
      <Icon aria-hidden className="mb-1 size-5 text-faint" strokeWidth={1.75} />
      <h2 className="text-ink">{title}</h2>
      {children === undefined ? null : <p className="max-w-[44ch] text-balance">{children}</p>}
      {action === undefined ? null : <div className="mt-3 flex flex-wrap justify-center gap-2">{action}</div>}
    </div>
  );
}

interface FailureProps {
  readonly title: string;
  readonly children?: ReactNode;
  readonly requestId?: string | null;
  readonly onRetry?: (() => void) | undefined;
}

/** Shows what happened, the request id, and a retry button. */
export function Failure({ title, children, requestId = null, onRetry }: FailureProps) {
  return (
    <div role="alert" className="grid grid-cols-[16px_minmax(0,1fr)] gap-x-3 gap-y-1 rounded-3 bg-bad-soft p-4">
      <CircleAlert aria-hidden className="mt-0.5 size-4 text-bad" strokeWidth={1.75} />
      <p className="font-semibold text-bad [overflow-wrap:anywhere]">{title}</p>
      {/* An empty element would leave a gap below the title. */}
      <div className="col-start-2 grid gap-2 [overflow-wrap:anywhere] empty:hidden">
        {children === undefined ? null : <div>{children}</div>}
        {requestId === null ? null : (
          <p className="text-12 text-dim">
            Request <code>{requestId}</code>
          </p>
        )}
        {onRetry === undefined ? null : (
          <div className="pt-1">
            <Button small onClick={onRetry}>
              Try again
            </Button>
          </div>
        )}
      </div>
    </div>
  );
}
