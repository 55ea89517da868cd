/** The state of a generated form, and the request body made from it. */
import {
  orderedInputs,
  type CreateRunBody,
  type ImageInput,
  type PromptConfig,
  type TextInputField,
} from "@promptd/contract";

export interface FormImage {
  readonly input: ImageInput;
  /** The preview's source: a blob URL of this page, or the address itself. */
  readonly preview: string;
  readonly name: string;
  readonly bytes: number | null;
}

/** Empty texts are absent. Their default is sent instead, if they have one. */
export interface FormState {
  readonly texts: Readonly<Record<string, string>>;
  readonly images: readonly (FormImage | null)[];
  readonly options: Readonly<Record<string, string>>;
}

/** Keyed by text input name and by `image-<index>`. */
export type FormFaults = Readonly<Record<string, string>>;

export const emptyForm = ({ imageCount }: PromptConfig): FormState => ({
  texts: {},
  images: Array.from({ length: imageCount }, () => null),
  options: {},
});

export function countCharacters(text: string): number {
  return Array.from(text).length;
}

/** Builds the request body for the form's run. */
export function bodyOf(promptVersionId: string, config: PromptConfig, form: FormState): CreateRunBody {
  const texts: Record<string, string> = {};
  for (const [name, field] of orderedInputs(config)) {
    const text = form.texts[name] ?? "";
    if (text !== "") texts[name] = text;
    else if (field.default !== null && field.default !== "") texts[name] = field.default;
    else if (field.allowEmpty && field.required) texts[name] = "";
  }
  const images = form.images.flatMap((image) => (image === null ? [] : [image.input]));
  return {
    promptVersionId,
    inputs: { textInputs: texts, imageInputs: images },
    ...(Object.keys(form.options).length === 0 ? {} : { runOptions: form.options }),
  };
}

/** Finds what the server would reject, before anything is sent. */
export function checkForm(config: PromptConfig, form: FormState): FormFaults {
  const faults: Record<string, string> = {};
  for (const [name, field] of orderedInputs(config)) {
    const fault = textFault(field, form.texts[name] ?? "");
    if (fault !== null) faults[name] = fault;
  }
  form.images.forEach((image, index) => {
    if (image === null) faults[`image-${index}`] = "Add an image.";
  });
  return faults;
}

function textFault(field: TextInputField, text: string): string | null {
  if (field.required && !field.allowEmpty && text.trim() === "") {
    return field.type === "select" ? "Choose an option." : "This field is required.";
  }
  const length = countCharacters(text);
  if (field.maxLength !== null && length > field.maxLength) {
    return `Use at most ${field.maxLength} characters. You entered ${length}.`;
  }
  return null;
}
