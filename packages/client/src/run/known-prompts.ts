/** A text, a number, a boolean, or the items of a list or of several choices. All of them are sent as texts. */
export type InputValue = string | number | boolean | readonly (string | number)[];

/** What the types of one prompt say; the file that `promptd types` writes adds some to `KnownPrompts`. */
export interface KnownPrompt {
  readonly inputs: object;
  readonly options: object;
}

/** Prompts by slug. Empty until the file that `promptd types` writes is part of a program. */
// oxlint-disable-next-line typescript/no-empty-object-type -- the file of the user merges its members into it
export interface KnownPrompts {}

/** A slug, a slug with a label (`slug@label`), or the id of a prompt or of a version. */
// oxlint-disable-next-line typescript/no-redundant-type-constituents -- an editor offers the slugs that are known
export type PromptName = (keyof KnownPrompts & string) | (string & {});

type SlugOf<Name> = Name extends `${infer Slug}@${string}` ? Slug : Name;
type Known<Name> = SlugOf<Name> extends keyof KnownPrompts ? KnownPrompts[SlugOf<Name>] : never;

/** The inputs of a prompt: of a known one by its types, else by any name. */
export type InputsOf<Name> = [Known<Name>] extends [never]
  ? Readonly<Record<string, InputValue | undefined>>
  : Known<Name> extends { readonly inputs: infer Inputs }
    ? Inputs
    : never;

/** The run options of a prompt. */
export type OptionsOf<Name> = [Known<Name>] extends [never]
  ? Readonly<Record<string, string | number | undefined>>
  : Known<Name> extends { readonly options: infer Options }
    ? Options
    : never;

/**
 * Texts of one JSON object. Values that are not texts are checked on demand.
 * @param what what they are called in an error, such as "Input".
 * @throws TypeError that names the value which has no text.
 */
export async function toTexts(what: string, values: object = {}): Promise<Record<string, string>> {
  return Object.values(values).every((value) => typeof value === "string")
    ? { ...values }
    : (await import("../lazy/to-texts.ts")).toTexts(what, values);
}
