/** Generates a prompt's form from its input configuration. */
import { orderedInputs, type PromptConfig, type TextInputField } from "@promptd/contract";
import { ImageField } from "./image-field.tsx";
import { nameIn, spell } from "../format.ts";
import { countCharacters, type FormFaults, type FormImage, type FormState } from "./prompt-form.ts";
import { Field, Input, Segments, Select, TextArea } from "../ui/field.tsx";

interface PromptFieldsProps {
  readonly config: PromptConfig;
  readonly form: FormState;
  readonly faults: FormFaults;
  readonly onChange: (form: FormState) => void;
}

export function PromptFields({ config, form, faults, onChange }: PromptFieldsProps) {
  const setText = (name: string, text: string) => onChange({ ...form, texts: { ...form.texts, [name]: text } });
  const setImage = (at: number, image: FormImage | null) =>
    onChange({ ...form, images: form.images.map((old, index) => (index === at ? image : old)) });
  const setOption = (key: string, value: string) => {
    const { [key]: _old, ...others } = form.options;
    onChange({ ...form, options: value === "" ? others : { ...others, [key]: value } });
  };
  return (
    <div className="grid gap-5">
      {config.imageInputs.map((slot, index) => (
        <ImageField
          key={slot.position}
          label={slot.label}
          help={slot.description}
          aside={config.imageCount > 1 ? `${index + 1} of ${config.imageCount}` : undefined}
          image={form.images[index] ?? null}
          fault={faults[`image-${index}`]}
          takesPaste={form.images.findIndex((image) => image === null) === index || config.imageCount === 1}
          onChange={(image) => setImage(index, image)}
        />
      ))}
      {orderedInputs(config).map(([name, field]) => (
        <TextField
          key={name}
          field={field}
          value={form.texts[name] ?? ""}
          fault={faults[name]}
          onChange={(text) => setText(name, text)}
        />
      ))}
      <Options config={config} options={form.options} onChange={setOption} />
    </div>
  );
}

interface TextFieldProps {
  readonly field: TextInputField;
  readonly value: string;
  readonly fault: string | undefined;
  readonly onChange: (text: string) => void;
}

const SEGMENTS_MAX = 4;
const SEGMENT_CHARACTERS_MAX = 36;

function TextField({ field, value, fault, onChange }: TextFieldProps) {
  const { label, options, multiple } = field;
  if (options !== null && multiple !== null) return <Choices {...{ field, value, fault, onChange }} />;
  const help = <Help field={field} />;
  if (options !== null) {
    const isShort = options.length <= SEGMENTS_MAX && options.join("").length <= SEGMENT_CHARACTERS_MAX;
    return (
      <Field label={label} help={help} fault={fault}>
        {(control) =>
          isShort ? (
            <Segments
              id={control.id}
              label={label}
              value={value === "" ? (field.default ?? "") : value}
              options={options.map((option) => ({ value: option, label: option }))}
              onChange={onChange}
            />
          ) : (
            <Select {...control} value={value} onChange={(event) => onChange(event.target.value)}>
              <option value="">{field.default === null ? "Choose one" : `${field.default} (default)`}</option>
              {options
                .filter((option) => option !== field.default)
                .map((option) => (
                  <option key={option}>{option}</option>
                ))}
            </Select>
          )
        }
      </Field>
    );
  }
  const isLine = field.maxLength !== null && field.maxLength <= 80;
  const Control = isLine ? Input : TextArea;
  return (
    <Field label={label} help={help} fault={fault} aside={<Count field={field} value={value} />}>
      {(control) => (
        <Control
          {...control}
          value={value}
          placeholder={field.default ?? ""}
          onChange={(event: { target: { value: string } }) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}

function Help({ field: { description, required, default: usual, options } }: { readonly field: TextInputField }) {
  const saysSo = /empty|optional/i.test(description);
  const isOptional = !required && (usual === null || usual === "") && !saysSo;
  const about = description === "" || /[.!?]$/.test(description) ? description : `${description}.`;
  const sent = usual !== null && usual !== "" && options === null ? `If empty, “${nameIn(usual)}” is sent.` : "";
  const parts = [about, sent, isOptional ? "Optional." : ""].filter((part) => part !== "");
  return parts.length === 0 ? null : parts.join(" ");
}

/** The character count, shown once the text exceeds half its limit. */
function Count({ field: { maxLength }, value }: { readonly field: TextInputField; readonly value: string }) {
  if (maxLength === null) return null;
  const length = countCharacters(value);
  return length > maxLength / 2 || length > maxLength ? `${length} of ${maxLength}` : null;
}

/** A multiple choice. Its value is the chosen names in list order, separated by commas. */
function Choices({ field, value, fault, onChange }: TextFieldProps) {
  const { label, options, multiple } = field;
  const chosen = value === "" ? (field.default ?? "") : value;
  const names = chosen
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  const change = (name: string, isOn: boolean) =>
    onChange((options ?? []).filter((one) => (one === name ? isOn : names.includes(one))).join(", "));
  const range =
    multiple === null ? "" : multiple.min === multiple.max ? `${multiple.min}` : `${multiple.min} to ${multiple.max}`;
  return (
    <fieldset className="grid gap-1.5">
      <legend className="font-medium">{label}</legend>
      <div className="flex flex-wrap gap-1.5">
        {(options ?? []).map((name) => (
          <label
            key={name}
            className="inline-flex h-7 items-center gap-2 rounded-2 border border-edge px-2 hover:bg-hover has-checked:border-transparent has-checked:bg-accent-soft has-checked:text-accent has-focus-visible:outline-2 has-focus-visible:outline-accent"
          >
            <input
              type="checkbox"
              className="size-3.5 accent-[var(--accent)]"
              checked={names.includes(name)}
              onChange={(event) => change(name, event.target.checked)}
            />
            {name}
          </label>
        ))}
      </div>
      <p className={fault === undefined ? "text-12 text-dim" : "text-12 text-bad"}>
        {fault ?? `Choose ${range}. ${field.description}`}
      </p>
    </fieldset>
  );
}

interface OptionsProps {
  readonly config: PromptConfig;
  readonly options: Readonly<Record<string, string>>;
  readonly onChange: (key: string, value: string) => void;
}

function Options({ config, options, onChange }: OptionsProps) {
  const entries = Object.entries(config.runOptions);
  if (entries.length === 0) return null;
  return (
    <div className="grid gap-5 border-line not-first:border-t not-first:pt-5">
      {entries.map(([key, { default: usual, options: values }]) => (
        <Field key={key} label={spell(key)} aside={usual === null ? undefined : `default: ${usual}`}>
          {(control) =>
            values.length <= SEGMENTS_MAX && usual !== null ? (
              <Segments
                id={control.id}
                label={spell(key)}
                value={options[key] ?? usual}
                options={values.map((value) => ({ value, label: value }))}
                onChange={(value) => onChange(key, value === usual ? "" : value)}
              />
            ) : (
              <Select {...control} value={options[key] ?? ""} onChange={(event) => onChange(key, event.target.value)}>
                <option value="">{usual ?? "Model default"}</option>
                {values
                  .filter((value) => value !== usual)
                  .map((value) => (
                    <option key={value}>{value}</option>
                  ))}
              </Select>
            )
          }
        </Field>
      ))}
    </div>
  );
}
