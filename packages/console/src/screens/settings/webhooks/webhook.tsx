import type { CreatedWebhook, Webhook } from "@promptd/contract/manage";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { Ellipsis, PencilLine, PowerOff, RotateCw, Send, Trash2 } from "lucide-react";
import { useState } from "react";
import { isMissing, manage } from "../../../api.ts";
import { runWithToast } from "../../../components/run-with-toast.ts";
import { Facts } from "../../../components/facts.tsx";
import { FormDialog } from "../../../components/form-dialog.tsx";
import { formatMoment } from "../../../components/format.ts";
import { OneTimeSecret } from "../../../components/one-time-secret.tsx";
import { Missing, QueryFailure, RowShapes } from "../../../components/query-states.tsx";
import { Badge } from "../../../components/ui/badge.tsx";
import { Button } from "../../../components/ui/button.tsx";
import { Field, Input } from "../../../components/ui/field.tsx";
import { Menu, MenuItem, MenuRule } from "../../../components/ui/menu.tsx";
import { Panel } from "../../../components/ui/panel.tsx";
import { toast } from "../../../components/ui/toast.tsx";
import { textOf } from "../../../sign-in.ts";
import { deliveriesOf, stateOf, useIsOwner, webhookQuery, webhooksQuery } from "./queries.ts";
import { Deliveries } from "./deliveries.tsx";
import { EventChoice, eventsOf } from "./webhooks.tsx";

/** One webhook: its address and its deliveries. */
export function WebhookSection() {
  const { webhookId } = useParams({ from: "/inside/settings/webhooks/$webhookId" });
  const webhook = useQuery(webhookQuery(webhookId));
  if (webhook.data !== undefined) return <Shown key={webhookId} webhook={webhook.data} />;
  if (isMissing(webhook.error)) {
    return (
      <Missing title="Webhook not found" to="/settings/webhooks" label="Open the webhooks">
        It was deleted, or it belongs to another account.
      </Missing>
    );
  }
  if (webhook.isError) return <QueryFailure what="The webhook" query={webhook} />;
  return <RowShapes what="the webhook" title="Webhook" rows={3} />;
}

type OpenDialog = "change" | "roll" | "delete" | null;

function Shown({ webhook }: { readonly webhook: Webhook }) {
  const { webhookId } = webhook;
  const params = { webhookId };
  const queries = useQueryClient();
  const isOwner = useIsOwner();
  const [openDialog, setOpenDialog] = useState<OpenDialog>(null);
  const [rolled, setRolled] = useState<CreatedWebhook | null>(null);
  const refresh = async () => {
    await Promise.all(
      [webhookQuery(webhookId).queryKey, webhooksQuery.queryKey, deliveriesOf(webhookId)].map((queryKey) =>
        queries.invalidateQueries({ queryKey }),
      ),
    );
  };
  const action = async (work: () => Promise<unknown>, done: string) => {
    await runWithToast(work, done);
    await refresh();
  };
  return (
    <>
      {rolled === null ? null : (
        <OneTimeSecret
          title="Your new secret"
          secret={rolled.secret}
          copyLabel="Copy secret"
          onDone={() => setRolled(null)}
        >
          <p className="text-dim">For one day, events are also signed with the old secret.</p>
        </OneTimeSecret>
      )}
      <Head
        webhook={webhook}
        isOwner={isOwner}
        onTest={() => void action(() => manage.send("testWebhook", { params }), "Test event sent")}
        onEnable={(isEnabled) =>
          void action(
            () => manage.send("updateWebhook", { params, body: { isEnabled } }),
            isEnabled ? "Webhook enabled" : "Webhook disabled",
          )
        }
        onAsk={setOpenDialog}
      />
      <Deliveries
        webhook={webhook}
        isOwner={isOwner}
        onRepeat={({ deliveryId }) =>
          void action(() => manage.send("repeatDelivery", { params: { webhookId, deliveryId } }), "Event sent again")
        }
      />
      <Dialogs
        webhook={webhook}
        openDialog={openDialog}
        onClose={() => setOpenDialog(null)}
        onRolled={setRolled}
        refresh={refresh}
      />
    </>
  );
}

interface DialogsProps {
  readonly webhook: Webhook;
  readonly openDialog: OpenDialog;
  readonly onClose: () => void;
  readonly onRolled: (webhook: CreatedWebhook) => void;
  readonly refresh: () => Promise<void>;
}

/** Dialogs for changing, rolling, and deleting a webhook. */
function Dialogs({ webhook: { webhookId, url, events }, openDialog, onClose, onRolled, refresh }: DialogsProps) {
  const params = { webhookId };
  const queries = useQueryClient();
  const navigate = useNavigate();
  return (
    <>
      <FormDialog
        isOpen={openDialog === "change"}
        onClose={onClose}
        title="Change webhook"
        submit="Save"
        onSubmit={async (form) => {
          const body = { url: textOf(form, "url"), events: eventsOf(form) };
          await manage.send("updateWebhook", { params, body });
          toast("Webhook changed");
          await refresh();
        }}
      >
        <Field label="Address">
          {(control) => (
            <Input {...control} name="url" type="url" defaultValue={url} required maxLength={2_048} autoFocus />
          )}
        </Field>
        <EventChoice chosen={events} />
      </FormDialog>
      <FormDialog
        isOpen={openDialog === "roll"}
        onClose={onClose}
        title="Roll the secret?"
        description="The webhook gets a new secret. For a day, events are signed with both."
        submit="Roll secret"
        onSubmit={async () => {
          onRolled(await manage.send("rollWebhookSecret", { params }));
          await refresh();
        }}
      />
      <FormDialog
        isOpen={openDialog === "delete"}
        onClose={onClose}
        title="Delete this webhook?"
        description="It receives no more events, and its delivery history is deleted. This can’t be undone."
        submit="Delete webhook"
        isDanger
        onSubmit={async () => {
          await manage.send("deleteWebhook", { params });
          toast("Webhook deleted");
          await navigate({ to: "/settings/webhooks" });
          await queries.invalidateQueries({ queryKey: webhooksQuery.queryKey });
        }}
      />
    </>
  );
}

interface HeadProps {
  readonly webhook: Webhook;
  readonly isOwner: boolean;
  readonly onTest: () => void;
  readonly onEnable: (isEnabled: boolean) => void;
  readonly onAsk: (openDialog: OpenDialog) => void;
}

function Head({ webhook, isOwner, onTest, onEnable, onAsk }: HeadProps) {
  const { url, events, disabledAt, disabledReason, failingSince, previousSecretUntil, createdAt } = webhook;
  const isEnabled = disabledAt === null;
  const { word, tone } = stateOf(webhook);
  return (
    <Panel
      title={
        <>
          <Link to="/settings/webhooks" className="font-normal text-dim hover:text-ink">
            Webhooks
          </Link>{" "}
          <span aria-hidden className="font-normal text-dim">
            ›
          </span>{" "}
          Webhook
        </>
      }
      actions={isOwner ? <HeadActions {...{ isEnabled, onTest, onEnable, onAsk }} /> : undefined}
    >
      <Facts
        facts={[
          { label: "Address", value: url },
          { label: "Events", value: events.join(", ") },
          {
            label: "State",
            value: (
              <span className="inline-flex flex-wrap items-center gap-x-2 gap-y-1">
                <Badge tone={tone}>{word}</Badge>
                {disabledAt === null ? null : `${disabledReason ?? ""} Since ${formatMoment(disabledAt)}.`}
                {isEnabled && failingSince !== null
                  ? `No delivery has succeeded since ${formatMoment(failingSince)}.`
                  : null}
              </span>
            ),
          },
          ...(previousSecretUntil === null
            ? []
            : [{ label: "Old secret", value: `signs until ${formatMoment(previousSecretUntil)}` }]),
          { label: "Created", value: formatMoment(createdAt) },
          { label: "ID", value: <code className="text-12">{webhook.webhookId}</code> },
        ]}
      />
    </Panel>
  );
}

interface HeadActionsProps extends Pick<HeadProps, "onTest" | "onEnable" | "onAsk"> {
  readonly isEnabled: boolean;
}

function HeadActions({ isEnabled, onTest, onEnable, onAsk }: HeadActionsProps) {
  return (
    <>
      {isEnabled ? (
        <Button small onClick={onTest}>
          <Send aria-hidden className="size-3.5" strokeWidth={1.75} />
          Send test event
        </Button>
      ) : (
        <Button small tone="main" onClick={() => onEnable(true)}>
          Enable
        </Button>
      )}
      <Menu
        trigger={
          <Button small square tone="quiet" aria-label="More actions">
            <Ellipsis aria-hidden className="size-4" strokeWidth={1.75} />
          </Button>
        }
      >
        <MenuItem icon={PencilLine} onClick={() => onAsk("change")}>
          Change
        </MenuItem>
        <MenuItem icon={RotateCw} onClick={() => onAsk("roll")}>
          Roll secret
        </MenuItem>
        {isEnabled ? (
          <MenuItem icon={PowerOff} onClick={() => onEnable(false)}>
            Disable
          </MenuItem>
        ) : null}
        <MenuRule />
        <MenuItem icon={Trash2} danger onClick={() => onAsk("delete")}>
          Delete
        </MenuItem>
      </Menu>
    </>
  );
}
