import { Link } from "@tanstack/react-router";
import type { Fault } from "../api.ts";
import { buttonClass } from "./ui/button.tsx";
import { Failure } from "./ui/empty.tsx";

interface FaultNoteProps {
  /** Null: nothing went wrong. */
  readonly fault: Fault | null;
  /** What did not work, where the sentence of the fault alone does not say it. */
  readonly title?: string;
  readonly onRetry?: (() => void) | undefined;
  /** After the sentence. */
  readonly children?: string | undefined;
}

/** What went wrong. Who was signed out meanwhile signs in beside the page, which keeps what is typed in it. */
export function FaultNote({ fault, title, onRetry, children }: FaultNoteProps) {
  if (fault === null) return null;
  const { message, requestId, isSignedOut } = fault;
  const hasDetails = title !== undefined || isSignedOut;
  return (
    <Failure title={title ?? message} requestId={requestId} onRetry={onRetry}>
      {hasDetails ? (
        <>
          {title === undefined ? null : message} {children}
          {isSignedOut ? (
            <div className="pt-1">
              <Link to="/sign-in" search={{}} target="_blank" className={buttonClass({ small: true })}>
                Sign in in a new tab
              </Link>
            </div>
          ) : null}
        </>
      ) : undefined}
    </Failure>
  );
}
