/** The time range of a list of runs. */
import { fromLocal, startOfToday, TIMES, toLocal, type Time, type TimeSearch } from "../../time-span.ts";
import { Input, Select } from "../ui/field.tsx";

export const TIME_WORDS: Readonly<Record<Time, string>> = {
  "1h": "Last hour",
  "3h": "Last 3 hours",
  "24h": "Last 24 hours",
  "7d": "Last 7 days",
  "30d": "Last 30 days",
  between: "Between …",
};

interface TimeFilterProps {
  readonly search: TimeSearch;
  readonly onChange: (next: TimeSearch) => void;
}

interface TimeSelectProps extends TimeFilterProps {
  readonly className: string;
  /** What is shown without a choice. A time stands for itself; null is any time. */
  readonly usual: Time | null;
}

export function TimeSelect({ search: { time, since }, onChange, className, usual }: TimeSelectProps) {
  const choose = (value: string) => {
    const next = TIMES.find((one) => one === value && one !== usual);
    onChange(
      next === "between"
        ? { time: next, since: since ?? startOfToday(Date.now()) }
        : { time: next, since: undefined, until: undefined },
    );
  };
  return (
    <Select
      aria-label="Time"
      className={className}
      value={time ?? usual ?? ""}
      onChange={({ target }) => choose(target.value)}
    >
      {usual === null ? <option value="">Any time</option> : null}
      {TIMES.map((one) => (
        <option key={one} value={one}>
          {TIME_WORDS[one]}
        </option>
      ))}
    </Select>
  );
}

/** The two ends of a range, in local time. Nothing for other choices. */
export function TimeEnds({ search: { time, since, until }, onChange }: TimeFilterProps) {
  if (time !== "between") return null;
  return (
    <div className="flex w-full flex-wrap items-center gap-x-4 gap-y-2 max-sm:col-span-6">
      <End label="From" value={since} onChange={(value) => onChange({ since: value })} />
      <End label="To" value={until} onChange={(value) => onChange({ until: value })} />
    </div>
  );
}

interface EndProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
}

function End({ label, value, onChange }: EndProps) {
  return (
    <label className="flex items-center gap-2 max-sm:w-full">
      <span className="w-9 text-dim sm:w-auto">{label}</span>
      <Input
        type="datetime-local"
        className="sm:w-52!"
        defaultValue={toLocal(value)}
        onChange={({ target }) => onChange(fromLocal(target.value))}
      />
    </label>
  );
}
