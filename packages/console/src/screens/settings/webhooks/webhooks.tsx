import { WEBHOOK_EVENTS, type CreatedWebhook, type Webhook, type WebhookEventName } from "@promptd/contract/manage";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Webhook as WebhookIcon } from "lucide-react";
import { useState } from "react";
import { manage } from "../../../api.ts";
import { FormDialog } from "../../../components/form-dialog.tsx";
import { formatDay } from "../../../components/format.ts";
import { ListPanel } from "../../../components/list-panel.tsx";
import { OneTimeSecret } from "../../../components/one-time-secret.tsx";
import { Badge } from "../../../components/ui/badge.tsx";
import { Button } from "../../../components/ui/button.tsx";
import { Empty } from "../../../components/ui/empty.tsx";
import { Field, Input } from "../../../components/ui/field.tsx";
import { Breakable, Table, Td } from "../../../components/ui/table.tsx";
import { textOf } from "../../../sign-in.ts";
import { CreditsAlertPanel } from "./credits-alert.tsx";
import { stateOf, useIsOwner, webhooksQuery } from "./queries.ts";

export function WebhooksSection() {
  const webhooks = useInfiniteQuery(webhooksQuery);
  const queries = useQueryClient();
  const isOwner = useIsOwner();
  const [isCreating, setCreating] = useState(false);
  const [created, setCreated] = useState<CreatedWebhook | null>(null);
  const create = isOwner ? (
    <Button small tone="main" onClick={() => setCreating(true)}>
      Create webhook
    </Button>
  ) : null;
  return (
    <>
      {created === null ? null : (
        <OneTimeSecret
          title="The webhook is ready"
          secret={created.secret}
          copyLabel="Copy secret"
          onDone={() => setCreated(null)}
        >
          <p className="text-dim">
            Use it to verify events. To learn how, see <Guide />.
          </p>
        </OneTimeSecret>
      )}
      <ListPanel
        list={webhooks}
        what="The webhooks"
        title="Webhooks"
        shapes={2}
        actions={create}
        note={null}
        empty={
          <Empty icon={WebhookIcon} title="No webhooks yet" action={create}>
            A webhook notifies your server when a run ends, when credits are low, or when a model your prompt uses is
            about to be retired. To receive events, see <Guide />.
          </Empty>
        }
      >
        {(rows) => <WebhookTable rows={rows} />}
      </ListPanel>
      <CreditsAlertPanel isOwner={isOwner} />
      <CreateWebhook
        isOpen={isCreating}
        onClose={() => setCreating(false)}
        onCreated={(webhook) => {
          setCreated(webhook);
          void queries.invalidateQueries({ queryKey: webhooksQuery.queryKey });
        }}
      />
    </>
  );
}

function Guide() {
  return (
    <Link to="/docs/$guide" params={{ guide: "webhooks" }} className="text-accent underline underline-offset-2">
      the guide
    </Link>
  );
}

function WebhookTable({ rows }: { readonly rows: readonly Webhook[] }) {
  return (
    <Table
      label="Webhooks"
      columns={[
        { label: "Address", fill: true },
        { label: "Events", from: "sm" },
        "State",
        { label: "Created", from: "xl" },
      ]}
    >
      {rows.map((row) => {
        const { word, tone } = stateOf(row);
        return (
          <tr key={row.webhookId} className="hover:bg-hover">
            <Td fill>
              <Link
                to="/settings/webhooks/$webhookId"
                params={{ webhookId: row.webhookId }}
                data-row
                className="font-medium hover:underline"
                title={row.url}
              >
                <Breakable text={row.url} />
              </Link>
            </Td>
            <Td from="sm">
              <span title={row.events.join(", ")}>
                {row.events.length === 1 ? row.events[0] : `${row.events.length} events`}
              </span>
            </Td>
            <Td>
              <Badge tone={tone}>{word}</Badge>
            </Td>
            <Td from="xl">{formatDay(row.createdAt)}</Td>
          </tr>
        );
      })}
    </Table>
  );
}

const MEANINGS: Readonly<Record<WebhookEventName, string>> = {
  "run.finished": "a run succeeds or fails",
  "credits.low": "credits fall below the threshold",
  "prompt.model_retiring": "a model used by your prompt retires soon",
};

interface CreateWebhookProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onCreated: (webhook: CreatedWebhook) => void;
}

function CreateWebhook({ isOpen, onClose, onCreated }: CreateWebhookProps) {
  const create = async (form: FormData) => {
    const body = { url: textOf(form, "url"), events: eventsOf(form) };
    onCreated(await manage.send("createWebhook", { body }));
  };
  return (
    <FormDialog isOpen={isOpen} onClose={onClose} title="Create webhook" submit="Create webhook" onSubmit={create}>
      <Field label="Address" help="Must use https and be reachable from the internet.">
        {(control) => (
          <Input
            {...control}
            name="url"
            type="url"
            placeholder="https://example.org/events"
            required
            maxLength={2_048}
            autoFocus
          />
        )}
      </Field>
      <EventChoice chosen={["run.finished"]} />
    </FormDialog>
  );
}

/** Checkboxes named `events`. */
export function EventChoice({ chosen }: { readonly chosen: readonly WebhookEventName[] }) {
  return (
    <fieldset className="grid gap-1.5">
      <legend className="pb-1 font-medium">Send when</legend>
      {WEBHOOK_EVENTS.map((event) => (
        <label key={event} className="flex items-baseline gap-2.5">
          <input
            type="checkbox"
            name="events"
            value={event}
            defaultChecked={chosen.includes(event)}
            className="translate-y-px accent-accent"
          />
          <span>
            {MEANINGS[event]} <code className="text-12 text-dim">{event}</code>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** @throws Error with the message that the dialog shows. */
export function eventsOf(form: FormData): WebhookEventName[] {
  const events = WEBHOOK_EVENTS.filter((event) => form.getAll("events").includes(event));
  if (events.length === 0) throw new Error("Choose at least one event.");
  return events;
}
