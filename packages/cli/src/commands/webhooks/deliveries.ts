import { DELIVERY_STATES, type Delivery, type DeliveryState } from "@promptd/contract/manage";
import type { Command } from "../../command.ts";
import { readWholeNumber } from "../../flag-values.ts";
import { formatTable } from "../../output.ts";
import { printableLine } from "../../printable.ts";
import { withManagement } from "../../session.ts";
import { webhookOf, wordOf } from "./read-arguments.ts";

export const webhooksDeliveries: Command = {
  summary: "List the deliveries of a webhook and its responses",
  usage: "<webhookId>",
  session: `$ promptd webhooks deliveries 01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a --limit 1
DELIVERY                              TIME                 EVENT         STATE      ATTEMPTS  ANSWER
01a1f9a0-7c10-7b42-9d03-1f6e0a4c8b57  2026-11-22 10:04:11  run.finished  delivered  1         204 in 93 ms`,
  options: {
    state: { type: "string", value: "STATE", summary: `only ${DELIVERY_STATES.join(", ")}` },
    limit: { type: "string", short: "n", value: "N", summary: "1 to 50 (default: 10)" },
  },
  async run(args, io) {
    const state = args.text("state");
    const query = {
      state: state === undefined ? undefined : wordOf<DeliveryState>("--state", state, DELIVERY_STATES),
      limit: readWholeNumber(args.text("limit"), "--limit"),
    };
    const call = { params: webhookOf(args), query, signal: io.signal };
    const page = await withManagement(io, (manage) => manage.send("listDeliveries", call));
    const header = ["DELIVERY", "TIME", "EVENT", "STATE", "ATTEMPTS", "ANSWER"];
    const rows = page.rows.map((delivery) => [
      delivery.deliveryId,
      delivery.createdAt.slice(0, 19).replace("T", " "),
      delivery.event,
      delivery.state,
      String(delivery.attempts),
      answerOf(delivery),
    ]);
    io.result(page, rows.length === 0 ? "No deliveries." : formatTable([header, ...rows]));
  },
};

export const webhooksRepeat: Command = {
  summary: "Send an event to a webhook again, with the same id",
  usage: "<webhookId> <deliveryId>",
  session: `$ promptd webhooks repeat 01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a 01a1f9a0-7c10-7b42-9d03-1f6e0a4c8b57
run.finished will be sent again. To see the response: promptd webhooks deliveries 01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a`,
  options: {},
  async run(args, io) {
    const params = { ...webhookOf(args), deliveryId: args.positionals[1] ?? "" };
    const call = { params, signal: io.signal };
    const delivery = await withManagement(io, (manage) => manage.send("repeatDelivery", call));
    io.result(delivery, `${delivery.event} will be sent again. ${seeAnswer(params.webhookId)}`);
  },
};

export const webhooksTest: Command = {
  summary: "Send a test event to a webhook",
  usage: "<webhookId>",
  session: `$ promptd webhooks test 01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a
webhook.test will be sent. To see the response: promptd webhooks deliveries 01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a`,
  options: {},
  async run(args, io) {
    const params = webhookOf(args);
    const call = { params, signal: io.signal };
    const delivery = await withManagement(io, (manage) => manage.send("testWebhook", call));
    io.result(delivery, `${delivery.event} will be sent. ${seeAnswer(params.webhookId)}`);
  },
};

function seeAnswer(webhookId: string): string {
  return `To see the response: promptd webhooks deliveries ${webhookId}`;
}

function answerOf({ statusCode, durationMs, fault, nextAttemptAt }: Delivery): string {
  const again = nextAttemptAt === null || fault === null ? "" : ` Next attempt at ${nextAttemptAt.slice(11, 19)}.`;
  if (fault !== null) return `${printableLine(fault)}${again}`;
  return statusCode === null ? "-" : `${statusCode} in ${durationMs ?? 0} ms`;
}
