/** What a generated form holds, and what is sent of it. */
import {
  orderedInputs,
  type CreateRunBody,
  type ImageInput,
  type PromptConfig,
  type TextInputField,
} from "@promptd/contract";

export interface FormImage {
  readonly input: ImageInput;
  /** Where the preview comes from: a blob of this page, or the address itself. */
  readonly preview: string;
  readonly name: string;
  readonly bytes: number | null;
}

/** Empty texts are absent: the default is sent, or nothing where there is none. */
export interface FormState {
  readonly texts: Readonly<Record<string, string>>;
  readonly images: readonly (FormImage | null)[];
  readonly options: Readonly<Record<string, string>>;
}

/** By text input, and by `image-<index>`. */
export type FormFaults = Readonly<Record<string, string>>;

export const emptyForm = ({ imageCount }: PromptConfig): FormState => ({
  texts: {},
  images: Array.from({ length: imageCount }, () => null),
  options: {},
});

export function countCharacters(text: string): number {
  return Array.from(text).length;
}

/** The body of the run that the form stands for. */
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

/** What the server would refuse, found before anything is sent. */
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
    return field.type === "select" ? "Choose one." : "Fill this in.";
  }
  const length = countCharacters(text);
  if (field.maxLength !== null && length > field.maxLength) {
    return `At most ${field.maxLength} characters fit; these are ${length}.`;
  }
  return null;
}
