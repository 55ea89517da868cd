import { Check, CircleAlert, Info, TriangleAlert } from "lucide-react";
import { Link } from "@tanstack/react-router";
import { formatCredits } from "../../components/format.ts";
import { cx } from "../../components/ui/class-names.ts";
import { useScrolling } from "../../components/ui/use-scrolling.ts";
import type { Checked } from "./use-check.ts";

interface FaultListProps {
  readonly checked: Checked;
  readonly onOpen: (place: { line: number; column: number | null }) => void;
}

/** Shown below the file: its faults, line by line, or its price if there are none. */
export function FaultList({ checked, onOpen }: FaultListProps) {
  const { faults, last, isPending, failure } = checked;
  return (
    <div
      {...useScrolling("File check")}
      aria-busy={isPending}
      className={cx(
        "@container grid max-h-[max(150px,30dvh)] shrink-0 gap-2 overflow-y-auto border-t border-line bg-bg px-4 py-2.5 text-12",
        isPending && last !== null && "opacity-60",
      )}
    >
      <div role="status" className="flex min-h-5 flex-wrap items-center gap-x-4 gap-y-1">
        {failure !== null ? (
          <span className="text-bad">The file could not be checked: {failure.message}</span>
        ) : faults.length > 0 ? (
          <span className="font-medium text-bad">
            {faults.length} {faults.length === 1 ? "error" : "errors"}. Fix {faults.length === 1 ? "it" : "them"} to run
            or publish.
          </span>
        ) : last === null ? (
          <span className="text-dim">Checking</span>
        ) : (
          <>
            <span className="inline-flex items-center gap-1.5 text-ok">
              <Check aria-hidden className="size-3.5" strokeWidth={2} />
              No errors
            </span>
            <span className="text-dim tabular-nums">
              A run costs callers {formatCredits(last.price.typical)}
              {last.price.most === last.price.typical ? "" : `, at most ${formatCredits(last.price.most)}`}
            </span>
          </>
        )}
        <EditorHelp />
      </div>
      {faults.length === 0 ? null : (
        <ul className="grid gap-1">
          {faults.map(({ line, column, message, field }, index) => (
            <li key={index} className="grid grid-cols-[16px_minmax(0,1fr)] gap-2">
              <CircleAlert aria-hidden className="mt-0.5 size-3.5 text-bad" strokeWidth={1.75} />
              <span className="[overflow-wrap:anywhere]">
                {line === null ? null : (
                  <button
                    type="button"
                    className="pr-2 text-accent tabular-nums hover:underline"
                    onClick={() => onOpen({ line, column })}
                  >
                    line {line}
                  </button>
                )}
                {field === "" ? null : <code className="pr-2 text-dim">{field}</code>}
                {message}
              </span>
            </li>
          ))}
        </ul>
      )}
      <Warnings prompt={last} />
      {(last?.notes ?? []).map((note) => (
        <p key={note} className="grid grid-cols-[16px_minmax(0,1fr)] gap-2 text-dim">
          <Info aria-hidden className="mt-0.5 size-3.5" strokeWidth={1.75} />
          <span className="[overflow-wrap:anywhere]">
            {note} <RolesGuide />
          </span>
        </p>
      ))}
    </div>
  );
}

/** Warnings. They do not block publishing, but authors should know them first. */
export function Warnings({ prompt }: Pick<Checked, "prompt">) {
  return (prompt?.warnings ?? []).map((warning) => (
    <p key={warning} className="grid grid-cols-[16px_minmax(0,1fr)] gap-2 text-12">
      <TriangleAlert aria-hidden className="mt-0.5 size-3.5 text-warn" strokeWidth={1.75} />
      <span className="[overflow-wrap:anywhere]">{warning}</span>
    </p>
  ));
}

/** The guide behind notes about roles. Each note says which model a role means now. */
function RolesGuide() {
  return (
    <Link
      to="/docs/$guide"
      params={{ guide: "prompt-files" }}
      hash="roles"
      target="_blank"
      className="text-accent hover:underline"
    >
      Roles
    </Link>
  );
}

function EditorHelp() {
  return (
    <span className="ml-auto inline-flex flex-wrap gap-x-3 text-dim">
      <span className="@max-[560px]:hidden">Ctrl+Space for suggestions. Esc, then Tab to leave.</span>
      <Link
        to="/docs/$guide"
        params={{ guide: "prompt-files" }}
        target="_blank"
        className="text-accent hover:underline"
      >
        File format
      </Link>
    </span>
  );
}
