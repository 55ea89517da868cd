import type { EndpointShapes } from "@promptd/contract";
import type { Connection } from "./connect.ts";

/** What the parts of the prompt client share. */
export interface ClientContext extends Connection<EndpointShapes> {
  readonly newIdempotencyKey: () => string;
}
