/** What a setting is, and the forms of its value, before and after parsing. */
import { z } from "zod";

export interface Setting<Value, Default extends string | null> {
  readonly form: z.ZodType<Value, string>;
  /** As it would be written in the environment; null: unset. */
  readonly default: Default;
  /** Describes a valid value in error messages. */
  readonly expected: string;
  readonly meaning: string;
  /** The value never appears in a message, and NAME_FILE may name a file that contains it. */
  readonly isSecret?: true;
  /** Other names that must be set if this one is. */
  readonly requires?: readonly string[];
}

export function setting<Value, const Default extends string | null>(
  form: z.ZodType<Value, string>,
  rest: Omit<Setting<Value, Default>, "form">,
): Setting<Value, Default> {
  return { form, ...rest };
}

/** A whole number. Its bounds are stated once, for the check and for the message. */
export function range<const Default extends string | null>(
  what: string,
  [min, max]: readonly [min: number, max: number],
  rest: Omit<Setting<number, Default>, "form" | "expected">,
): Setting<number, Default> {
  return { form: integer(min, max), expected: `${what} from ${min} to ${max}`, ...rest };
}

/** A base URL that paths are appended to. */
export function address(meaning: string, rest: Pick<Setting<string, null>, "requires"> = {}): Setting<string, null> {
  return { form: baseUrl, default: null, expected: "an http:// or https:// URL without ? and #", meaning, ...rest };
}

export function toggle<const Default extends "on" | "off" | null>(
  rest: Omit<Setting<boolean, Default>, "form" | "expected">,
): Setting<boolean, Default> {
  return { form: onOff, expected: "on or off", ...rest };
}

export function integer(min: number, max: number) {
  return z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number)
    .refine((value) => value >= min && value <= max);
}

export const text = z.string().min(1);
const onOff = z.enum(["on", "off"]).transform((value) => value === "on");
/** A URL that paths are appended to. A query or fragment would swallow the path. */
const baseUrl = z
  .string()
  .refine((value) => /^https?:$/.test(URL.parse(value)?.protocol ?? "") && !/[?#]/.test(value))
  .transform((value) => value.replace(/\/+$/, ""));
export const smtpUrl = z.string().refine((value) => /^smtps?:$/.test(URL.parse(value)?.protocol ?? ""));
/** The form with a socket directory (`postgresql://user@/db?host=/run`) has no host, which the URL class rejects. */
export const postgresUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//)
  .refine((value) => URL.canParse(value) || URL.canParse(value.replace("@/", "@localhost/")));
export const origins = z
  .string()
  .transform((value) =>
    value
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== ""),
  )
  .refine((list) => list.every((part) => part === "*" || URL.parse(part)?.origin === part));

/** Null: determined at run time. */
export function autoOr(min: number, max: number) {
  return z.union([z.literal("auto").transform(() => null), integer(min, max)]);
}
