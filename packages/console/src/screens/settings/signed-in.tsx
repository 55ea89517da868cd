import { useQuery, useQueryClient } from "@tanstack/react-query";
import { runWithToast } from "../../components/run-with-toast.ts";
import { formatTime } from "../../components/format.ts";
import { QueryFailure, RowShapes } from "../../components/query-states.tsx";
import { Badge } from "../../components/ui/badge.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Panel } from "../../components/ui/panel.tsx";
import { ACTIONS_COLUMN, Table, Td } from "../../components/ui/table.tsx";
import { askAuth } from "../../sign-in.ts";
import { ownSessionQuery, sessionsQuery, type SessionRow } from "./auth-queries.ts";
import { browserOf } from "./browser-of.ts";

/** Where the person is signed in, this browser first. */
export function SignedIn() {
  const sessions = useQuery(sessionsQuery);
  const { data: own } = useQuery(ownSessionQuery);
  const queries = useQueryClient();
  if (sessions.isLoadingError) return <QueryFailure what="The sessions" query={sessions} />;
  if (sessions.data === undefined || own === undefined)
    return <RowShapes what="the sessions" title="Sessions" rows={3} />;
  const isThis = ({ id }: SessionRow) => id === own.session.id;
  const rows = sessions.data.toSorted(
    (a, b) => Number(isThis(b)) - Number(isThis(a)) || b.updatedAt.localeCompare(a.updatedAt),
  );
  const end = async (path: string, body: unknown, done: string) => {
    await runWithToast(() => askAuth(path, body), done);
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
            onClick={() => void end("revoke-other-sessions", {}, "Signed out everywhere else")}
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
            key={row.id}
            row={row}
            isThis={isThis(row)}
            onEnd={() => void end("revoke-session", { token: row.token }, "Signed out there")}
          />
        ))}
      </Table>
    </Panel>
  );
}

interface RowProps {
  readonly row: SessionRow;
  readonly isThis: boolean;
  readonly onEnd: () => void;
}

function Row({ row: { userAgent, ipAddress, createdAt }, isThis, onEnd }: RowProps) {
  const browser = browserOf(userAgent ?? "");
  return (
    <tr>
      <Td fill>
        <span title={userAgent ?? undefined}>{browser}</span>
      </Td>
      <Td from="sm">
        <code className="text-12 text-dim">{ipAddress ?? ""}</code>
      </Td>
      <Td from="sm">{formatTime(createdAt)}</Td>
      <Td num>
        {isThis ? (
          <Badge tone="live">this one</Badge>
        ) : (
          <Button small tone="quiet" aria-label={`Sign out ${browser}`} onClick={onEnd}>
            Sign out
          </Button>
        )}
      </Td>
    </tr>
  );
}
