import type { z } from "zod";
import type { EndpointSchemas, endpointSchemas } from "../schemas/endpoint-schemas.ts";

/*
 * The types that need zod stand in this folder alone: the package of the client has its own text of them, without zod,
 * written when it is built (scripts/client-types.ts).
 */

/** What each endpoint takes and answers, read from its schemas. Types only: nothing of a schema is loaded. */
export type ShapesOf<Schemas extends Readonly<Record<string, EndpointSchemas>>> = {
  readonly [N in keyof Schemas]: {
    readonly params: z.output<Schemas[N]["params"]>;
    readonly query: z.output<Schemas[N]["query"]>;
    readonly body: Schemas[N]["body"] extends z.ZodType<infer Body> ? Body : undefined;
    readonly data: z.output<Schemas[N]["data"]>;
  };
};
export type EndpointShapes = ShapesOf<typeof endpointSchemas>;
