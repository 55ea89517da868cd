/** Every endpoint of an API, from the server's OpenAPI document. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Missing, QueryFailure, RowShapes } from "../../components/query-states.tsx";
import { Badge } from "../../components/ui/badge.tsx";
import { Facts } from "../../components/facts.tsx";
import { operationsOf, type Operation } from "./operations-of.ts";

const DOCUMENTS: ReadonlyMap<string, string> = new Map([
  ["v1", "/openapi.json"],
  ["manage", "/manage/openapi.json"],
]);

export function ReferenceSection() {
  const { api } = useParams({ from: "/open/docs/reference/$api" });
  const address = DOCUMENTS.get(api);
  const operations = useQuery({
    queryKey: ["docs", "reference", address],
    queryFn: async ({ signal }) => operationsOf(await (await fetch(address ?? "", { signal })).json()),
    enabled: address !== undefined,
    staleTime: Infinity,
  });
  if (address === undefined) {
    return (
      <Missing title="Reference not found" to="/docs" label="All guides">
        Check the address. There is a reference for /v1 and one for /manage/v1.
      </Missing>
    );
  }
  if (operations.isError) return <QueryFailure what="The reference" query={operations} />;
  if (operations.data === undefined) return <RowShapes what="the reference" rows={10} />;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-2">
      <p className="pb-1 text-dim">
        {operations.data.length} endpoints. The OpenAPI document is at{" "}
        <a href={address} className="text-accent underline underline-offset-2">
          {address}
        </a>
        .
      </p>
      {operations.data.map((operation) => (
        <Endpoint key={`${operation.method} ${operation.path}`} operation={operation} />
      ))}
    </div>
  );
}

function Endpoint({
  operation: { method, path, summary, parameters, request, answer, errors },
}: {
  readonly operation: Operation;
}) {
  return (
    <details className="min-w-0 rounded-3 border border-line bg-panel">
      <summary className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2.5">
        <Badge tone={method === "GET" ? "neutral" : method === "DELETE" ? "bad" : "live"}>{method}</Badge>
        <code className="min-w-0 [overflow-wrap:anywhere]">{path}</code>
        <span className="text-dim">{summary}</span>
      </summary>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4 border-t border-line p-4">
        {parameters.length === 0 ? null : (
          <Facts
            facts={parameters.map(({ name, location, isRequired, about }) => ({
              label: name,
              value: `${location}${isRequired ? ", required" : ""}${about === "" ? "" : `. ${about}`}`,
            }))}
          />
        )}
        <Example label="Request" text={request} />
        <Example label="Response" text={answer} />
        {errors.length === 0 ? null : <p className="text-12 text-dim">Errors: {errors.join(", ")}</p>}
      </div>
    </details>
  );
}

function Example({ label, text }: { readonly label: string; readonly text: string | null }) {
  if (text === null) return null;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-1">
      <h3>{label}</h3>
      <pre
        tabIndex={0}
        aria-label={label}
        className="max-h-96 overflow-auto rounded-2 bg-sunk p-3 font-mono text-[12.5px] leading-5"
      >
        {text}
      </pre>
    </div>
  );
}
