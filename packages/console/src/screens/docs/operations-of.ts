/** What readers need from an OpenAPI document: each operation with its parameters, an example, and its errors. */
export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly location: string;
    readonly isRequired: boolean;
    readonly about: string;
  }[];
  /** As JSON. Null if the operation has no body. */
  readonly request: string | null;
  readonly answer: string | null;
  /** HTTP statuses. */
  readonly errors: readonly string[];
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly example?: unknown; readonly examples?: Examples }>>;
}
type Examples = Readonly<Record<string, { readonly value?: unknown }>>;

interface Described {
  readonly summary?: string;
  readonly parameters?: readonly {
    readonly name?: string;
    readonly in?: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema?: { readonly description?: string };
  }[];
  readonly requestBody?: Content;
  readonly responses?: Readonly<Record<string, Content>>;
}

const METHODS = ["get", "post", "put", "patch", "delete"] as const;

/** @param document the server's self-describing JSON, as received. */
export function operationsOf(document: unknown): Operation[] {
  const { paths = {} } = document as { readonly paths?: Readonly<Record<string, Readonly<Record<string, Described>>>> };
  return Object.entries(paths).flatMap(([path, methods]) =>
    METHODS.flatMap((method) => {
      const described = methods[method];
      return described === undefined ? [] : [toOperation(method, path, described)];
    }),
  );
}

function toOperation(method: string, path: string, described: Described): Operation {
  const { summary = "", parameters = [], requestBody, responses = {} } = described;
  const statuses = Object.keys(responses);
  const success = statuses.find((status) => status.startsWith("2"));
  return {
    method: method.toUpperCase(),
    path,
    summary,
    parameters: parameters.flatMap(({ name, in: location = "", required = false, description, schema }) =>
      name === undefined
        ? []
        : [{ name, location, isRequired: required, about: description ?? schema?.description ?? "" }],
    ),
    request: exampleOf(requestBody),
    answer: success === undefined ? null : exampleOf(responses[success]),
    errors: statuses.filter((status) => !status.startsWith("2")),
  };
}

function exampleOf(described: Content | undefined): string | null {
  const [media] = Object.values(described?.content ?? {});
  const [first] = Object.values(media?.examples ?? {});
  const value = media?.example ?? first?.value;
  if (value === undefined) return null;
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
