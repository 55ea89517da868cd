import { ChevronDown, Search } from "lucide-react";
import { useId, useState, type ComponentProps, type FormEvent, type ReactNode } from "react";
import { cx } from "./class-names.ts";

const CONTROL =
  "w-full min-w-0 rounded-2 border bg-panel text-13 text-ink disabled:bg-transparent disabled:text-dim focus-visible:outline-1 focus-visible:outline-offset-0";
const edge = (isBad: boolean) => (isBad ? "border-bad" : "border-edge");

interface FieldProps {
  readonly label: string;
  /** Shown to the right of the label, such as a count. */
  readonly aside?: ReactNode;
  readonly help?: ReactNode;
  readonly fault?: string | null | undefined;
  readonly children: (control: ControlProps) => ReactNode;
}

/** Attributes that connect a control to its label, help, and error. */
interface ControlProps {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": boolean | undefined;
}

/** A control with its label, help, and error. */
export function Field({ label, aside, help, fault, children }: FieldProps) {
  const id = useId();
  /** The browser's validation error on submit. */
  const [refusal, setRefusal] = useState<string | null>(null);
  const wrong = fault ?? refusal;
  const isBad = wrong !== null;
  const note = wrong ?? help;
  const hasNote = note !== undefined && note !== null && note !== "";
  return (
    <div
      className="grid min-w-0 content-start gap-1"
      onInvalid={(event) => setRefusal(refuse(event, label))}
      onInput={() => setRefusal(null)}
    >
      <div className="flex items-baseline justify-between gap-3">
        <label htmlFor={id} className="min-w-0 font-medium [overflow-wrap:anywhere]">
          {label}
        </label>
        {aside === undefined ? null : <span className="shrink-0 text-12 text-dim tabular-nums">{aside}</span>}
      </div>
      {children({ id, "aria-describedby": hasNote ? `${id}-note` : undefined, "aria-invalid": isBad || undefined })}
      {hasNote ? (
        <p id={`${id}-note`} className={cx("text-12 [overflow-wrap:anywhere]", isBad ? "text-bad" : "text-dim")}>
          {note}
        </p>
      ) : null}
    </div>
  );
}

/** Replaces the browser's bubble with a message below the field, and focuses the first invalid field. */
function refuse(event: FormEvent<HTMLElement>, label: string): string | null {
  const { target } = event;
  const isControl = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
  if (!isControl && !(target instanceof HTMLSelectElement)) return null;
  event.preventDefault();
  if (target.form?.querySelector(":is(input, select, textarea):invalid") === target) target.focus();
  return isControl ? refusalOf(target, label) : `${label} is required.`;
}

function refusalOf(control: HTMLInputElement | HTMLTextAreaElement, label: string): string {
  const { validity, minLength, type, value, validationMessage } = control;
  if (validity.valueMissing) return `${label} is required.`;
  if (validity.typeMismatch && type === "email") return "Enter an email address such as ada@example.org.";
  if (validity.tooShort) return `Use at least ${minLength} characters. You entered ${value.length}.`;
  if (!(control instanceof HTMLInputElement)) return validationMessage;
  if (validity.stepMismatch || validity.badInput) return "Enter a whole number.";
  if (validity.rangeUnderflow) return `At least ${control.min}.`;
  return validity.rangeOverflow ? `At most ${control.max}.` : validationMessage;
}

export function Input({ className, ...rest }: ComponentProps<"input">) {
  const isBad = rest["aria-invalid"] === true;
  return <input className={cx(CONTROL, "h-8 px-2.5", edge(isBad), className)} {...rest} />;
}

interface SearchInputProps extends ComponentProps<"input"> {
  /** Its accessible name and its placeholder. */
  readonly label: string;
}

/** A search field that filters the content below it. */
export function SearchInput({ label, ...rest }: SearchInputProps) {
  return (
    <span className="relative block">
      <Search
        aria-hidden
        strokeWidth={1.75}
        className="pointer-events-none absolute top-1/2 left-2.5 size-4 -translate-y-1/2 text-dim"
      />
      <Input type="search" aria-label={label} placeholder={label} maxLength={200} className="pl-8!" {...rest} />
    </span>
  );
}

interface SearchFormProps {
  readonly label: string;
  /** The current search text. */
  readonly value: string | undefined;
  readonly className: string;
  readonly onSearch: (text: string | undefined) => void;
}

/** A search that starts on Enter, because each one reads the database. Emptying the field clears it. */
export function SearchForm({ label, value = "", className, onSearch }: SearchFormProps) {
  const [text, setText] = useState(value);
  const [shown, setShown] = useState(value);
  if (shown !== value) {
    setShown(value);
    setText(value);
  }
  const search = (words: string) => onSearch(words === "" ? undefined : words);
  return (
    <form
      role="search"
      className={className}
      onSubmit={(event) => {
        event.preventDefault();
        search(text.trim());
      }}
    >
      <SearchInput
        label={label}
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          if (target.value === "" && value !== "") search("");
        }}
      />
    </form>
  );
}

/** A text area that grows with its text. */
export function TextArea({ className, ...rest }: ComponentProps<"textarea">) {
  const isBad = rest["aria-invalid"] === true;
  const size = "field-sizing-content min-h-16 max-h-80 px-2.5 py-1.5 leading-5 resize-y";
  return <textarea className={cx(CONTROL, size, edge(isBad), className)} {...rest} />;
}

/** The native select, which already supports keyboards, screen readers, and phones. */
export function Select({ className, children, ...rest }: ComponentProps<"select">) {
  const isBad = rest["aria-invalid"] === true;
  return (
    <span className={cx("relative block min-w-0", className)}>
      <select className={cx(CONTROL, "h-8 appearance-none truncate pr-8 pl-2.5", edge(isBad))} {...rest}>
        {children}
      </select>
      <ChevronDown
        aria-hidden
        className="pointer-events-none absolute top-1/2 right-2.5 size-3.5 -translate-y-1/2 text-dim"
      />
    </span>
  );
}

interface DaysFieldProps {
  readonly label: string;
  readonly choices: readonly number[];
  readonly defaultDays: number;
}

/** How long access lasts, as the form field `days`. 0 means that it never ends. */
export function DaysField({ label, choices, defaultDays }: DaysFieldProps) {
  return (
    <Field label={label}>
      {(control) => (
        <Select {...control} name="days" defaultValue={String(defaultDays)}>
          {choices.map((days) => (
            <option key={days} value={days}>
              {wordsOf(days)}
            </option>
          ))}
        </Select>
      )}
    </Field>
  );
}

function wordsOf(days: number): string {
  if (days === 0) return "Never";
  return days === 365 ? "In a year" : `In ${days} days`;
}

interface SegmentsProps {
  readonly id?: string;
  readonly label: string;
  readonly value: string;
  readonly options: readonly { readonly value: string; readonly label: ReactNode }[];
  readonly onChange: (value: string) => void;
}

/** A choice of two to four visible options: radio buttons in a bar. */
export function Segments({ id, label, value, options, onChange }: SegmentsProps) {
  const name = useId();
  return (
    <div
      id={id}
      role="radiogroup"
      aria-label={label}
      className="flex overflow-x-auto rounded-2 border border-edge bg-sunk p-px [scrollbar-width:none]"
    >
      {options.map((option) => (
        <label
          key={option.value}
          className="min-w-max flex-1 rounded-1 border border-transparent px-2 py-[3px] max-sm:px-1 text-center text-dim hover:text-ink has-checked:border-edge has-checked:bg-panel has-checked:font-medium has-checked:text-ink has-focus-visible:outline-2 has-focus-visible:outline-accent"
        >
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
            className="sr-only"
          />
          {option.label}
        </label>
      ))}
    </div>
  );
}
