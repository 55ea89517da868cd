import type { ListedSession } from "@promptd/contract/manage";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { manage } from "../../../api.ts";
import { runWithToast } from "../../../components/run-with-toast.ts";
import { formatTime } from "../../../components/format.ts";
import { QueryFailure, RowShapes } from "../../../components/query-states.tsx";
import { Badge } from "../../../components/ui/badge.tsx";
import { Button } from "../../../components/ui/button.tsx";
import { Panel } from "../../../components/ui/panel.tsx";
import { ACTIONS_COLUMN, Table, Td } from "../../../components/ui/table.tsx";
import { askAuth } from "../../../sign-in.ts";
import { sessionsQuery } from "../auth-queries.ts";
import { browserOf } from "../browser-of.ts";

/** The person's sessions, with this browser first. */
export function SignedIn() {
  const sessions = useQuery(sessionsQuery);
  const queries = useQueryClient();
  if (sessions.isLoadingError) return <QueryFailure what="The sessions" query={sessions} />;
  if (sessions.data === undefined) return <RowShapes what="the sessions" title="Sessions" rows={3} />;
  const rows = sessions.data.toSorted((a, b) => Number(b.isThis) - Number(a.isThis));
  const end = async (send: () => Promise<unknown>, done: string) => {
    await runWithToast(send, done);
    await queries.invalidateQueries({ queryKey: sessionsQuery.queryKey });
  };
  return (
    <Panel
      title="Sessions"
      aside="where you are signed in"
      flush
      actions={
        rows.length < 2 ? null : (
          <Button
            small
            tone="danger"
            onClick={() => void end(() => askAuth("revoke-other-sessions", {}), "Signed out everywhere else")}
          >
            Sign out everywhere else
          </Button>
        )
      }
    >
      <Table
        label="Sessions"
        columns={[
          { label: "Browser", fill: true },
          { label: "Address", from: "sm" },
          { label: "Signed in", from: "sm" },
          ACTIONS_COLUMN,
        ]}
      >
        {rows.map((row) => (
          <Row
            key={row.sessionId}
            row={row}
            onEnd={() =>
              void end(() => manage.send("endSession", { params: { sessionId: row.sessionId } }), "Session signed out")
            }
          />
        ))}
      </Table>
    </Panel>
  );
}

interface RowProps {
  readonly row: ListedSession;
  readonly onEnd: () => void;
}

function Row({ row: { userAgent, address, createdAt, isThis }, onEnd }: RowProps) {
  const browser = browserOf(userAgent ?? "");
  return (
    <tr>
      <Td fill>
        <span title={userAgent ?? undefined}>{browser}</span>
      </Td>
      <Td from="sm">
        <code className="text-12 text-dim">{address ?? ""}</code>
      </Td>
      <Td from="sm">{formatTime(createdAt)}</Td>
      <Td num>
        {isThis ? (
          <Badge tone="live">this browser</Badge>
        ) : (
          <Button small tone="quiet" aria-label={`Sign out ${browser}`} onClick={onEnd}>
            Sign out
          </Button>
        )}
      </Td>
    </tr>
  );
}
