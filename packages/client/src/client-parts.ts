import type { EndpointShapes } from "@promptd/contract";
import type { Connection } from "./connect.ts";

/** What the parts of the client for prompts work with. */
export interface ClientParts extends Connection<EndpointShapes> {
  readonly newIdempotencyKey: () => string;
}
