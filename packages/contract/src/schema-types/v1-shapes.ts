import type { z } from "zod";
import type { EndpointSchemas, endpointSchemas } from "../schemas/endpoint-schemas.ts";

/*
 * Only this folder has types that need zod. The client package has its own copy of them without zod,
 * generated when it is built (scripts/client-types.ts).
 */

/** Each endpoint's request and response types, inferred from its schemas. Types only: no schema is loaded. */
export type ShapesOf<Schemas extends Readonly<Record<string, EndpointSchemas>>> = {
  readonly [N in keyof Schemas]: {
    readonly params: z.output<Schemas[N]["params"]>;
    readonly query: z.output<Schemas[N]["query"]>;
    readonly body: Schemas[N]["body"] extends z.ZodType<infer Body> ? Body : undefined;
    readonly data: z.output<Schemas[N]["data"]>;
  };
};
export type EndpointShapes = ShapesOf<typeof endpointSchemas>;
