import { DELIVERY_STATES, type Delivery, type DeliveryState, type Webhook } from "@promptd/contract/manage";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { RotateCw, Send } from "lucide-react";
import { formatMoment, formatTime } from "../../../components/format.ts";
import { ListPanel } from "../../../components/list-panel.tsx";
import { Status, type StateTone } from "../../../components/ui/badge.tsx";
import { Button } from "../../../components/ui/button.tsx";
import { Empty } from "../../../components/ui/empty.tsx";
import { Select } from "../../../components/ui/field.tsx";
import { ACTIONS_COLUMN, Table, Td } from "../../../components/ui/table.tsx";
import type { WebhookSearch } from "../../../search.ts";
import { deliveriesQuery } from "./queries.ts";

interface DeliveriesProps {
  readonly webhook: Webhook;
  readonly isOwner: boolean;
  readonly onRepeat: (delivery: Delivery) => void;
}

/** What was sent, and how the receiver responded. */
export function Deliveries({ webhook, isOwner, onRepeat }: DeliveriesProps) {
  const { state } = useSearch({ from: "/inside/settings/webhooks/$webhookId" });
  const navigate = useNavigate({ from: "/settings/webhooks/$webhookId" });
  const deliveries = useInfiniteQuery(deliveriesQuery(webhook.webhookId, state));
  const show = (next: WebhookSearch["state"]) =>
    void navigate({ search: { state: next }, replace: true, resetScroll: false });
  const canRepeat = isOwner && webhook.disabledAt === null;
  return (
    <ListPanel
      list={deliveries}
      what="The deliveries"
      title="Deliveries"
      aside="from the last 30 days"
      actions={
        <Select
          aria-label="State"
          className="w-32"
          value={state ?? ""}
          onChange={({ target }) => show(DELIVERY_STATES.find((one) => one === target.value))}
        >
          <option value="">Any state</option>
          {DELIVERY_STATES.map((one) => (
            <option key={one} value={one}>
              {STATES[one].word}
            </option>
          ))}
        </Select>
      }
      empty={
        state === undefined ? (
          <Empty icon={Send} title="No events sent yet">
            Events appear here with your server’s responses.
          </Empty>
        ) : (
          <Empty
            icon={Send}
            title="No deliveries in this state"
            action={<Button onClick={() => show(undefined)}>Show all deliveries</Button>}
          />
        )
      }
    >
      {(rows) => (
        <Table
          label="Deliveries"
          columns={[
            "Event",
            { label: "State", from: "sm" },
            { label: "Response", fill: true },
            { label: "Attempts", from: "sm", num: true },
            { label: "Time", from: "xl" },
            ACTIONS_COLUMN,
          ]}
        >
          {rows.map((row) => (
            <DeliveryRow key={row.deliveryId} row={row} canRepeat={canRepeat} onRepeat={() => onRepeat(row)} />
          ))}
        </Table>
      )}
    </ListPanel>
  );
}

const STATES = {
  pending: { tone: "live", word: "Pending" },
  delivered: { tone: "ok", word: "Delivered" },
  failed: { tone: "bad", word: "Failed" },
} as const satisfies Record<DeliveryState, { tone: StateTone; word: string }>;

interface DeliveryRowProps {
  readonly row: Delivery;
  readonly canRepeat: boolean;
  readonly onRepeat: () => void;
}

function DeliveryRow({ row, canRepeat, onRepeat }: DeliveryRowProps) {
  const answer = answerOf(row);
  return (
    <tr className="hover:bg-hover" title={row.deliveryId}>
      <Td>
        {row.runId === null ? (
          row.event
        ) : (
          <Link to="/runs/$runId" params={{ runId: row.runId }} data-row className="hover:underline">
            {row.event}
          </Link>
        )}
        <span className="block sm:hidden">
          <State state={row.state} />
        </span>
      </Td>
      <Td from="sm">
        <State state={row.state} />
      </Td>
      <Td fill whole>
        <span className="whitespace-normal">{answer}</span>
      </Td>
      <Td from="sm" num>
        {row.attempts}
      </Td>
      <Td from="xl">
        <span title={formatMoment(row.createdAt)}>{formatTime(row.createdAt)}</span>
      </Td>
      <Td num>
        {canRepeat && row.nextAttemptAt === null && row.state === "pending" ? null : canRepeat ? (
          <Button small tone="quiet" aria-label={`Send again: ${row.event}`} onClick={onRepeat}>
            <RotateCw aria-hidden className="size-3.5 sm:hidden" strokeWidth={1.75} />
            <span className="max-sm:hidden">Send again</span>
          </Button>
        ) : null}
      </Td>
    </tr>
  );
}

function State({ state }: Pick<Delivery, "state">) {
  const { tone, word } = STATES[state];
  return <Status tone={tone}>{word}</Status>;
}

function answerOf({ state, statusCode, fault, durationMs, nextAttemptAt, attempts }: Delivery): string {
  if (state === "pending" && nextAttemptAt === null) return "sending";
  const again = nextAttemptAt === null || attempts === 0 ? "" : ` Next attempt: ${formatTime(nextAttemptAt)}.`;
  if (fault !== null) return `${fault}${again}`;
  return statusCode === null ? "waiting for a worker" : `${statusCode} in ${durationMs ?? 0} ms`;
}
