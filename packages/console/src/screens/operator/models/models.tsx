import type { ManagedModel, ModelHealth } from "@promptd/contract/manage";
import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { modelsQuery } from "../../../api.ts";
import { formatDay, formatDuration, formatMoment, formatWhole } from "../../../components/format.ts";
import { QueryFailure, RowShapes } from "../../../components/query-states.tsx";
import { Badge, Status, type StateTone } from "../../../components/ui/badge.tsx";
import { cx } from "../../../components/ui/class-names.ts";
import { Segments } from "../../../components/ui/field.tsx";
import { Panel } from "../../../components/ui/panel.tsx";
import { ACTIONS_COLUMN, Breakable, Table, Td } from "../../../components/ui/table.tsx";
import { causeWords } from "../cause-words.ts";
import { ModelSwitch } from "./model-switch.tsx";
import { TestCall } from "./test-call.tsx";
import { healthQuery } from "../queries.ts";

export function ModelsSection() {
  const [models, health] = useQueries({ queries: [modelsQuery, healthQuery] });
  const [shown, setShown] = useState("enabled");
  const failed = [models, health].find((query) => query.isError && query.data === undefined);
  if (failed !== undefined) return <QueryFailure what="The models" query={failed} />;
  if (models.data === undefined || health.data === undefined) return <RowShapes what="models" rows={8} />;
  const all = models.data.models;
  const rows = all.filter((row) => shown === "all" || isInUse(row));
  const healthOf = new Map(health.data.rows.map((row) => [row.model, row]));
  return (
    <Panel
      title="Models"
      aside="calls in the last hour, one bar per five minutes"
      flush
      actions={
        <Segments
          label="Which models"
          value={shown}
          options={[
            { value: "enabled", label: `In use ${formatWhole(all.filter(isInUse).length)}` },
            { value: "all", label: `All ${formatWhole(all.length)}` },
          ]}
          onChange={setShown}
        />
      }
      foot="A provider’s key enables its models. To change models, edit the models file. See “Models” in the docs."
    >
      <Table
        label="Models"
        columns={[
          { label: "Model", fill: true },
          "Health",
          { label: "Last hour", from: "sm" },
          { label: "Calls", num: true, from: "sm" },
          { label: "Median", num: true, from: "xl" },
          { label: "Retires", from: "sm" },
          ACTIONS_COLUMN,
        ]}
      >
        {rows.map((row) => (
          <Row key={row.model} row={row} health={healthOf.get(row.model) ?? null} />
        ))}
      </Table>
    </Panel>
  );
}

/** Includes models that are switched off, so that they stay where they were. */
const isInUse = ({ enabled, isOff }: ManagedModel) => enabled || isOff;

interface RowProps {
  readonly row: ManagedModel;
  readonly health: ModelHealth | null;
}

function Row({ row, health }: RowProps) {
  return (
    <tr className="hover:bg-hover">
      <Td fill whole>
        <code className="inline-block pt-1.5 text-12 max-lg:pt-0" title={row.model}>
          <Breakable text={row.model} />
        </code>
        <span className="text-12 text-dim max-lg:block lg:pl-2">{row.modality}</span>
        <span className="block text-12 text-dim lg:truncate lg:pb-1.5" title={row.price}>
          {row.price === "" ? "free" : priceWords(row.price)}
        </span>
      </Td>
      <Td>
        <Health row={row} health={health} />
      </Td>
      <Td from="sm">{health === null ? null : <Bars history={health.history} />}</Td>
      <Td num from="sm">
        {health === null ? "" : formatWhole(health.calls)}
      </Td>
      <Td num from="xl">
        {health === null || health.medianMs === null ? "" : formatDuration(health.medianMs)}
      </Td>
      <Td from="sm">
        {row.retiresAt === null ? null : (
          <Badge tone="warn">
            {formatDay(row.retiresAt)}
            {row.successor === null ? "" : `, then ${row.successor}`}
          </Badge>
        )}
      </Td>
      <Td num>
        {isInUse(row) ? (
          <div className="flex justify-end gap-1">
            <TestCall row={row} tone="quiet" />
            <ModelSwitch row={row} tone="quiet" />
          </div>
        ) : null}
      </Td>
    </tr>
  );
}

function Health({ row, health }: RowProps) {
  if (row.status === "retired") return <Status tone="neutral">Retired</Status>;
  if (row.isOff) return <Status tone="warn">Switched off</Status>;
  if (!row.enabled) return <Status tone="neutral">Not enabled</Status>;
  if (health === null) return <Status tone="neutral">Not called</Status>;
  const { tone, word } = judge(health);
  if (health.lastFailure === null) return <Status tone={tone}>{word}</Status>;
  const { outcome, at, httpStatus, providerCode } = health.lastFailure;
  const details = [httpStatus, providerCode].filter((one) => one !== null).join(" ");
  return (
    <Link
      to="/operator/runs"
      search={{ model: row.model, status: "failed" }}
      title={`Last failure ${formatMoment(at)}: ${causeWords(outcome)}${details === "" ? "" : ` (${details})`}`}
      className="hover:underline hover:underline-offset-3"
    >
      <Status tone={tone}>{word}</Status>
    </Link>
  );
}

function judge({ calls, failed }: ModelHealth): { readonly tone: StateTone; readonly word: string } {
  if (failed === 0) return { tone: "ok", word: "Responding" };
  const word = `${failed} of ${calls} failed`;
  return failed * 2 >= calls ? { tone: "bad", word } : { tone: "warn", word };
}

/** Green if every call succeeded, amber or red by the share of failures, gray if there were no calls. */
function Bars({ history }: { readonly history: ModelHealth["history"] }) {
  const said = history
    .map(({ calls, failed }) => (calls === 0 ? "no calls" : `${failed} of ${calls} failed`))
    .join(", ");
  return (
    <span role="img" aria-label={`The last hour: ${said}`} className="flex h-4 items-end gap-px">
      {history.map(({ calls, failed }, index) => (
        <i
          key={index}
          className={cx(
            "h-4 w-1 rounded-full",
            calls === 0 ? "bg-press" : failed === 0 ? "bg-ok/60" : failed * 2 >= calls ? "bg-bad" : "bg-warn",
          )}
        />
      ))}
    </span>
  );
}

const PER: Readonly<Record<string, string>> = {
  inputPer1k: "in",
  cachedInputPer1k: "cached in",
  outputPer1k: "out",
  perImage: "per image",
  perSecond: "per second",
};

/** Turns catalogue prices, such as `inputPer1k 0.1, outputPer1k 0.5`, into words. Token prices are per thousand. */
function priceWords(price: string): string {
  const words = price.split(", ").map((part) => {
    const [, search = null] = /^webSearch (.+)$/.exec(part) ?? [];
    if (search !== null) return search;
    const [name = "", value = ""] = part.split(" ");
    return `${value.replace("-", " to ")} ${PER[name] ?? name}`;
  });
  const last = price.split(", ").findLastIndex((part) => part.includes("Per1k"));
  return words.map((word, index) => (index === last ? `${word} per 1k tokens` : word)).join(", ");
}
