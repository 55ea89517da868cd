import { Problem } from "../../platform/problem.ts";
import { serverBusy } from "../body/body-budget.ts";
import type { Admit } from "../endpoint.ts";
import type { Exchange } from "./exchange.ts";
import type { FailedEntries } from "./failed-admissions.ts";

export interface AdmitSetup {
  readonly admit: Admit;
  readonly failedEntries: FailedEntries;
  /** True while the process has more open requests than it should. */
  readonly isBusy: () => boolean;
}

/**
 * 401, 429 and 402, in this order and before a byte of the body is read: an anonymous caller can never make the
 * server buffer anything. @throws Problem of the refusal.
 */
export async function admit(exchange: Exchange, setup: AdmitSetup): Promise<void> {
  const address = exchange.request.socket.remoteAddress ?? "";
  const admission = await setup.admit({ authorization: exchange.headerValues("authorization"), address });
  exchange.remaining = admission.remaining;
  if (admission.kind === "admitted") {
    exchange.caller = admission.caller;
    if (!setup.isBusy()) return;
    throw serverBusy();
  }
  const { problem } = admission;
  if (problem.code === "UNAUTHORIZED_ERROR" && !setup.failedEntries.note(address)) {
    throw new Problem(
      "TOO_MANY_REQUESTS_ERROR",
      "Too many requests with an API key that is not valid. Wait 1 second, then retry.",
    );
  }
  throw problem;
}
