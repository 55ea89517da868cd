/** What lists and details show while loading, after a failure, when missing, and when there are more rows. */
import { Link, useLocation, type LinkProps } from "@tanstack/react-router";
import { Compass } from "lucide-react";
import type { ReactNode } from "react";
import { faultOf } from "../api.ts";
import { FaultNote } from "./fault-note.tsx";
import { Button, buttonClass } from "./ui/button.tsx";
import { Empty, Failure } from "./ui/empty.tsx";
import { Panel } from "./ui/panel.tsx";
import { Loading, Skeleton } from "./ui/skeleton.tsx";

interface QueryFailureProps {
  /** With its article: "The runs". */
  readonly what: string;
  readonly query: { readonly error: unknown; readonly refetch: () => unknown };
}

/** Shows the server's message, the request id, and a retry button. A signed-out person gets a link back to this page. */
export function QueryFailure({ what, query }: QueryFailureProps) {
  const { href } = useLocation();
  const fault = faultOf(query.error);
  const title = `${what} could not be loaded.`;
  if (!fault.isSignedOut) return <FaultNote fault={fault} title={title} onRetry={() => void query.refetch()} />;
  return (
    <Failure title={title} requestId={fault.requestId}>
      <p>You are signed out. After you sign in, you return to this page.</p>
      <p className="pt-2">
        <Link to="/sign-in" search={{ from: href }} className={buttonClass({ small: true })}>
          Sign in again
        </Link>
      </p>
    </Failure>
  );
}

interface MissingProps {
  readonly title: string;
  readonly children: ReactNode;
  /** Where to go instead. */
  readonly to: NonNullable<LinkProps["to"]>;
  readonly label: string;
}

/** For an address that leads nowhere, or to something this person may not see. Both must look the same. */
export function Missing({ title, children, to, label }: MissingProps) {
  return (
    <Empty
      icon={Compass}
      title={title}
      action={
        <Link to={to} className={buttonClass()}>
          {label}
        </Link>
      }
    >
      {children}
    </Empty>
  );
}

interface RowShapesProps {
  /** What is loading, such as "runs". */
  readonly what: string;
  readonly rows?: number;
  readonly title?: ReactNode;
}

/** A placeholder for a table that is loading. */
export function RowShapes({ what, rows = 6, title }: RowShapesProps) {
  return (
    <Loading what={what}>
      <Panel title={title}>
        <div className="grid gap-4">
          {Array.from({ length: rows }, (_, index) => (
            <Skeleton key={index} className="h-4" />
          ))}
        </div>
      </Panel>
    </Loading>
  );
}

/** The parts of an infinite query that the footer needs. */
export interface GrowingList {
  readonly hasNextPage: boolean;
  readonly isFetchingNextPage: boolean;
  readonly isFetchNextPageError: boolean;
  readonly fetchNextPage: () => unknown;
}

/** The label of the button that loads the next page. */
export function moreLabel({ isFetchingNextPage, isFetchNextPageError }: GrowingList): string {
  if (isFetchingNextPage) return "Loading";
  return isFetchNextPageError ? "Loading failed. Try again" : "Show more";
}

interface ShowMoreProps {
  readonly list: GrowingList;
  /** Shown when there are no more rows. */
  readonly children?: ReactNode;
}

/** The footer of a paginated list. */
export function ShowMore({ list, children }: ShowMoreProps) {
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  return (
    <>
      {children}
      {hasNextPage ? (
        <Button small className="ml-auto" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {moreLabel(list)}
        </Button>
      ) : null}
    </>
  );
}
