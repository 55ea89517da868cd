/** Builds checks that differ in one value from tables. */
import type { ErrorCode } from "@promptd/contract";
import type { Check, Exchange } from "../check.ts";
import { expectError, expectField, FORMS, type Form, type Json } from "../expect.ts";
import type { ConformContext } from "../context.ts";
import type { RequestOptions } from "../requests.ts";

export type ConformCheck = Check<ConformContext>;
export type FormName = keyof typeof FORMS;

/** One check per field of a payload. `read` returns every object that has the fields. */
export function fieldChecks(
  of: { readonly what: string; readonly section: string },
  fields: Readonly<Record<string, FormName>>,
  read: (context: ConformContext) => Promise<{ readonly objects: readonly Json[]; readonly exchange: Exchange }>,
): ConformCheck[] {
  return Object.entries(fields).map(([name, formName]) => {
    const form: Form = FORMS[formName];
    return {
      name: `${of.what} has ${name}: ${form.words}`,
      section: of.section,
      run: async (context) => {
        const { objects, exchange } = await read(context);
        for (const one of objects) expectField(one, name, form, exchange);
      },
    };
  });
}

/** A request that must be rejected. */
export interface Refusal {
  readonly name: string;
  readonly path: string | ((context: ConformContext) => string | Promise<string>);
  readonly options?: RequestOptions | ((context: ConformContext) => RequestOptions | Promise<RequestOptions>);
  /** VALIDATION_ERROR when absent. */
  readonly codes?: readonly ErrorCode[];
}

export function refusalChecks(section: string, refusals: readonly Refusal[]): ConformCheck[] {
  return refusals.map(({ name, path, options = {}, codes = ["VALIDATION_ERROR"] }) => ({
    name,
    section,
    run: async (context) => {
      const where = typeof path === "string" ? path : await path(context);
      const requestOptions = typeof options === "function" ? await options(context) : options;
      expectError(await context.send(where, requestOptions), ...codes);
    },
  }));
}

/** Ids that do not exist. */
export const ABSENT_ID = "00000000-0000-4000-8000-00000000dead";
export const OTHER_ABSENT_ID = "00000000-0000-4000-8000-00000000beef";

/** Texts that are not UUIDs, by what is wrong with them. */
export const BAD_IDS: Readonly<Record<string, string>> = {
  "a word": "abc",
  "too short": "01a19b45-b800-7a3e-8b1d-0c6f5e2a9b7",
  "a letter that is not a hexadecimal digit": "01a19b45-b800-7a3e-8b1d-0c6f5e2a9bzz",
  "without its hyphens": "01a19b45b8007a3e8b1d0c6f5e2a9b77",
};
