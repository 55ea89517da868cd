/** Shows what differs between two versions of a prompt, and what callers would notice. */
import type { FieldChange, LineChange, OwnPromptDiff, PriceOfPrompt } from "@promptd/contract/manage";
import { formatCredits } from "../../components/format.ts";
import { cx } from "../../components/ui/class-names.ts";

export function DiffView({ diff }: { readonly diff: OwnPromptDiff }) {
  if (diff.isSame) return <p className="text-dim">No differences.</p>;
  // Skip changes without content, such as a new input's empty description.
  const all = [...diff.fields, ...diff.inputs, ...diff.options];
  const changes = all.filter(({ before, after }) => !isEmpty(before) || !isEmpty(after));
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
      <Conflicts conflicts={diff.conflicts} />
      <Price price={diff.price} />
      {changes.length === 0 ? null : (
        <dl className="grid grid-cols-[minmax(0,1fr)] gap-2">
          {changes.map((change) => (
            <div key={change.field} className="grid gap-0.5">
              <dt>
                <code className="text-12 text-dim">{change.field}</code>
              </dt>
              <dd className="[overflow-wrap:anywhere]">
                <Values change={change} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {diff.texts.map(({ field, lines }) => (
        <div key={field} className="grid grid-cols-[minmax(0,1fr)] gap-1">
          <code className="text-12 text-dim">{field}</code>
          <Lines lines={lines} field={field} />
        </div>
      ))}
    </div>
  );
}

/** Lists what callers send today that would be rejected or have no effect. */
function Conflicts({ conflicts }: Pick<OwnPromptDiff, "conflicts">) {
  if (conflicts.length === 0) return <p className="text-ok">Existing calls still work.</p>;
  return (
    <div role="note" className="grid gap-1 rounded-2 bg-warn-soft p-3">
      <p className="font-semibold text-warn">Breaking changes for existing calls:</p>
      <ul className="grid list-disc gap-1 pl-5">
        {conflicts.map(({ kind, name, message }) => (
          <li key={`${kind} ${name}`} className="[overflow-wrap:anywhere]">
            {message}
          </li>
        ))}
      </ul>
    </div>
  );
}

function priceText(price: PriceOfPrompt | null): string {
  if (price === null) return "unknown";
  const typical = formatCredits(price.typical);
  return price.most === price.typical ? typical : `${typical}, at most ${formatCredits(price.most)}`;
}

function Price({ price: { before, after } }: Pick<OwnPromptDiff, "price">) {
  const [old, next] = [priceText(before), priceText(after)];
  return old === next ? (
    <p className="text-dim">The price does not change: {next}.</p>
  ) : (
    <p>
      Price: <del className="text-bad">{old}</del> <ins className="text-ok no-underline">{next}</ins>
    </p>
  );
}

const isEmpty = (value: unknown) => value === null || value === undefined || value === "";
const shown = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

function Values({ change: { before, after } }: { readonly change: FieldChange }) {
  return (
    <>
      {isEmpty(before) ? null : <del className="pr-2 text-bad">{shown(before)}</del>}
      {isEmpty(after) ? (
        <span className="text-dim">removed</span>
      ) : (
        <ins className="text-ok no-underline">{shown(after)}</ins>
      )}
    </>
  );
}

const SIGNS = { same: " ", removed: "−", added: "+" } as const;
const LINES = { same: "text-dim", removed: "bg-bad-soft text-bad", added: "bg-ok-soft text-ok" } as const;

function Lines({ lines, field }: { readonly lines: readonly LineChange[]; readonly field: string }) {
  return (
    <pre
      tabIndex={0}
      aria-label={`Lines of ${field}`}
      className="max-h-80 overflow-auto rounded-2 bg-sunk py-2 font-mono text-[12px] leading-5 whitespace-pre-wrap"
    >
      {lines.map(({ kind, text }, index) => (
        <span key={index} className={cx("block pr-3 pl-7 -indent-4", LINES[kind])}>
          <span className="inline-block w-4 indent-0 select-none">{SIGNS[kind]}</span>
          {text === "" ? " " : text}
        </span>
      ))}
    </pre>
  );
}
