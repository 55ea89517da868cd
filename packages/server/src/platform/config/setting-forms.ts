/** The forms of setting values, before and after parsing. */
import { z } from "zod";

export function integer(min: number, max: number) {
  return z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number)
    .refine((value) => value >= min && value <= max);
}

export const text = z.string().min(1);
export const onOff = z.enum(["on", "off"]).transform((value) => value === "on");
/** A URL that paths are appended to. A query or fragment would swallow the path. */
export const baseUrl = z
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
