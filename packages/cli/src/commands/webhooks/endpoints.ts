import { WEBHOOK_EVENTS, type Webhook, type WebhookEventName } from "@promptd/contract/manage";
import type { Command } from "../../command.ts";
import { formatTable } from "../../output.ts";
import { printableLine } from "../../printable.ts";
import { withManagement } from "../../session.ts";
import { webhookOf, wordOf } from "./read-arguments.ts";

export const webhooksList: Command = {
  summary: "List the webhooks of your account",
  usage: "",
  session: `$ promptd webhooks list
WEBHOOK                               STATE    EVENTS        URL
01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a  enabled  run.finished  https://example.org/events`,
  options: {},
  async run(_args, io) {
    const query = { limit: 50 };
    const page = await withManagement(io, (manage) => manage.send("listWebhooks", { query, signal: io.signal }));
    const header = ["WEBHOOK", "STATE", "EVENTS", "URL"];
    const rows = page.rows.map((webhook) => [
      webhook.webhookId,
      stateOf(webhook),
      webhook.events.join(", "),
      printableLine(webhook.url),
    ]);
    io.result(page, rows.length === 0 ? "No webhooks." : formatTable([header, ...rows]));
  },
};

export const webhooksAdd: Command = {
  summary: "Create a webhook; its secret is shown only once",
  usage: "<url>",
  session: `$ promptd webhooks add https://example.org/events --event run.finished
whsec_Vk3zO1y0cXg2bS5pQm9uR8tWj7LhEfDa
Created 01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a. The secret is shown only once.`,
  options: {
    event: {
      type: "string",
      multiple: true,
      value: "NAME",
      summary: `${WEBHOOK_EVENTS.join(", ")} (default: all)`,
    },
  },
  async run(args, io) {
    const named = args.list("event").map((name) => wordOf<WebhookEventName>("--event", name, WEBHOOK_EVENTS));
    const body = { url: args.positionals[0] ?? "", events: named.length === 0 ? [...WEBHOOK_EVENTS] : named };
    const created = await withManagement(io, (manage) => manage.send("createWebhook", { body, signal: io.signal }));
    // Only the secret goes to standard output, so that a script can store it.
    io.result(created, created.secret);
    io.note(`Created ${created.webhookId}. The secret is shown only once.`);
  },
};

export const webhooksRemove: Command = {
  summary: "Delete a webhook and its deliveries",
  usage: "<webhookId>",
  session: `$ promptd webhooks remove 01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a
Deleted the webhook for https://example.org/events.`,
  options: {},
  async run(args, io) {
    const call = { params: webhookOf(args), signal: io.signal };
    const removed = await withManagement(io, (manage) => manage.send("deleteWebhook", call));
    io.result(removed, `Deleted the webhook for ${printableLine(removed.url)}.`);
  },
};

function stateOf({ disabledAt, failingSince }: Webhook): string {
  if (disabledAt !== null) return "disabled";
  return failingSince === null ? "enabled" : "failing";
}
