/** A string, a number, a boolean, or the items of a list or multiple choice. All values are sent as strings. */
export type InputValue = string | number | boolean | readonly (string | number)[];

/** The types of one prompt; the file that `promptd types` writes adds prompts to `KnownPrompts`. */
export interface KnownPrompt {
  readonly inputs: object;
  readonly options: object;
}

/** Prompts by slug. Empty until the file that `promptd types` writes is part of a program. */
// oxlint-disable-next-line typescript/no-empty-object-type -- the user's generated file merges its members into it
export interface KnownPrompts {}

/** A slug, a slug with a label (`slug@label`), or the id of a prompt or of a version. */
// oxlint-disable-next-line typescript/no-redundant-type-constituents -- editors suggest the known slugs
export type PromptName = (keyof KnownPrompts & string) | (string & {});

type SlugOf<Name> = Name extends `${infer Slug}@${string}` ? Slug : Name;
type Known<Name> = SlugOf<Name> extends keyof KnownPrompts ? KnownPrompts[SlugOf<Name>] : never;

/** The inputs of a prompt: typed if the prompt is known, otherwise by any name. */
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
 * Converts values to strings. The code for values that are not strings is loaded on demand.
 * @param what the name of such a value in an error, such as "Input".
 * @throws TypeError that names a value that cannot be converted.
 */
export async function toTexts(what: string, values: object = {}): Promise<Record<string, string>> {
  return Object.values(values).every((value) => typeof value === "string")
    ? { ...values }
    : (await import("../lazy/to-texts.ts")).toTexts(what, values);
}
