import { Link } from "@tanstack/react-router";
import type { Fault } from "../api.ts";
import { buttonClass } from "./ui/button.tsx";
import { Failure } from "./ui/empty.tsx";

interface FaultNoteProps {
  /** Null: nothing went wrong. */
  readonly fault: Fault | null;
  /** What failed, when the fault's own message does not say so. */
  readonly title?: string;
  readonly onRetry?: (() => void) | undefined;
  /** Shown after the message. */
  readonly children?: string | undefined;
}

/** Shows what went wrong. People who were signed out sign in again in a new tab, so this page keeps their text. */
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
