import type { Invitation, PersonInvitation } from "@promptd/contract/manage";
import { countCredits, formatDay } from "../format.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { ACTIONS_COLUMN, Breakable, Table, Td } from "../ui/table.tsx";

const TONES = { open: "live", accepted: "ok", revoked: "neutral", expired: "warn" } as const;

function stateOf({ acceptedAt, revokedAt, expiresAt }: Invitation): keyof typeof TONES {
  if (acceptedAt !== null) return "accepted";
  if (revokedAt !== null) return "revoked";
  return Date.parse(expiresAt) <= Date.now() ? "expired" : "open";
}

/** The plan and credits promised with the account. */
function termsOf({ plan, credits }: Invitation): string {
  const words = [plan === null ? [] : [`plan ${plan}`], credits === null ? [] : [countCredits(credits)]];
  return words.flat().join(", ");
}

interface InvitationTableProps {
  readonly rows: readonly (Invitation & Partial<PersonInvitation>)[];
  /** For lists whose invitations have different roles. */
  readonly hasRoles?: boolean;
  readonly onRenew: (row: Invitation) => void;
  readonly onRevoke: (row: Invitation) => void;
}

/** A link is shown only once, so a lost link must be replaced by a new one. */
export function InvitationTable({ rows, hasRoles = false, onRenew, onRevoke }: InvitationTableProps) {
  const role = hasRoles ? [{ label: "Role", from: "sm" } as const] : [];
  return (
    <Table label="Invitations" columns={[{ label: "Email", fill: true }, ...role, "State", ACTIONS_COLUMN]}>
      {rows.map((row) => {
        const state = stateOf(row);
        return (
          <tr key={row.invitationId}>
            <Td fill whole>
              <Breakable text={row.email} />
              {row.plan === null && row.credits === null ? null : <span className="text-dim"> {termsOf(row)}</span>}
              {row.hasPerson === true ? (
                <>
                  {" "}
                  <Badge>has an account</Badge>
                </>
              ) : null}
            </Td>
            {hasRoles ? <Td from="sm">{row.role}</Td> : null}
            <Td>
              <Badge tone={TONES[state]}>
                {state}
                {state === "open" ? (
                  <span className="whitespace-pre max-sm:hidden"> until {formatDay(row.expiresAt)}</span>
                ) : null}
              </Badge>
            </Td>
            <Td num>
              {state === "open" || state === "expired" ? (
                <Button small tone="quiet" aria-label={`New link for ${row.email}`} onClick={() => onRenew(row)}>
                  New link
                </Button>
              ) : null}
              {state === "open" ? (
                <Button
                  small
                  tone="quiet"
                  aria-label={`Revoke invitation for ${row.email}`}
                  onClick={() => onRevoke(row)}
                >
                  Revoke
                </Button>
              ) : null}
            </Td>
          </tr>
        );
      })}
    </Table>
  );
}
