import type { EndpointShapes } from "@promptd/contract";
import type { Shapes } from "./call-endpoint.ts";
import type { Connection } from "./connect.ts";
import type { RunShapes } from "./run/run-endpoints.ts";

/** What the parts of the prompt client share. `run` calls its own few endpoints only. */
export interface ClientContext<All extends Shapes<keyof All & string> = RunShapes> extends Connection<All> {
  readonly newIdempotencyKey: () => string;
}

/** The same with every endpoint, for the parts that are loaded on demand. */
export type WholeContext = ClientContext<EndpointShapes>;
