import { describeType, quoteText, type ImageInput, type Issue, type IssueCode } from "@promptd/contract";
import { decodeHead, measureBase64 } from "./base64.ts";
import { findImageFormat, IMAGE_SIGNATURE_BYTES } from "./media-signature.ts";
import { parsePublicUrl, type UrlFault } from "../fetch/public-address.ts";

/** More than any prompt may require; the exact count is checked against the prompt. */
const IMAGES_MAX = 32;
const MEBIBYTE = 1_048_576;
export const IMAGE_BYTES_MAX = 10 * MEBIBYTE;
export const RUN_IMAGE_BYTES_MAX = 20 * MEBIBYTE;

const PATH = ["body", "inputs", "imageInputs"] as const;

/** The result for one image: an issue, or its size in bytes (0 for an address, whose size is unknown until it is fetched). */
type Finding = { readonly issue: Issue } | { readonly bytes: number };

/**
 * Checks everything about a run's images that needs neither the database nor a fetch: the format of each image and
 * address, and the alphabet, size, and first bytes of Base64 data. Only those first bytes are decoded.
 * Elements are typed as unknown, since the messages for wrong types come from here, not from a schema.
 * @returns all issues, in order; none if the images may be stored with `storeInputImages`.
 * Source: specification, "Image input".
 */
export function checkImageInputs(images: readonly ImageInput[] | readonly unknown[]): Issue[] {
  if (images.length > IMAGES_MAX) {
    const message = `At most ${IMAGES_MAX} images are allowed, got ${images.length}.`;
    return [{ path: PATH, code: "too_many", message }];
  }
  const findings = images.map((image, index) => checkImage(image, index));
  const issues = findings.flatMap((finding) => ("issue" in finding ? [finding.issue] : []));
  const bytes = findings.reduce((sum, finding) => sum + ("bytes" in finding ? finding.bytes : 0), 0);
  if (issues.length === 0 && bytes > RUN_IMAGE_BYTES_MAX) {
    const message = `The images are ${inMebibytes(bytes)} in total; the limit is ${inMebibytes(RUN_IMAGE_BYTES_MAX)}.`;
    issues.push({ path: PATH, code: "invalid_image", message });
  }
  return issues;
}

function checkImage(image: unknown, index: number): Finding {
  const name = `Image ${index + 1}`;
  if (typeof image !== "object" || image === null || Array.isArray(image)) {
    return issueAt([index], "invalid_type", `${name} must be an object, got ${describeType(image)}.`);
  }
  const type = readMember(image, "type");
  if (type !== "url" && type !== "base64") {
    const given =
      typeof type === "string"
        ? `has the type ${quoteText(type)}`
        : type === undefined
          ? "has no type"
          : `has a type that is ${describeType(type)}`;
    const message = `${name} ${given}; supported types are "url" and "base64".`;
    return issueAt([index, "type"], "unsupported_image_type", message);
  }
  const value = readMember(image, type);
  if (value === undefined || value === null) {
    return issueAt([index, type], "required", `${name} has the type "${type}" but no ${type}.`);
  }
  if (typeof value !== "string") {
    return issueAt([index, type], "invalid_type", `${name}: ${type} must be a string, got ${describeType(value)}.`);
  }
  return type === "url" ? checkUrl(value, index) : checkBase64(value, index);
}

/** Reads own members only: inherited members were not sent. */
function readMember(image: object, name: string): unknown {
  return Object.hasOwn(image, name) ? (image as Record<string, unknown>)[name] : undefined;
}

const URL_FAULTS: Readonly<Record<UrlFault, string>> = {
  "not-text": "the URL contains a character that is not allowed.",
  "too-long": "the URL is longer than 2,048 characters.",
  "not-https": "the URL must begin with https://.",
  "not-a-url": "the URL is not valid. Use a URL such as https://example.org/photo.png.",
  "user-info": "the URL must not contain a user name or password.",
  port: "the URL must use port 443.",
  "not-public": "the URL must be publicly accessible.",
};

function checkUrl(text: string, index: number): Finding {
  const parsed = parsePublicUrl(text);
  if ("url" in parsed) return { bytes: 0 };
  const code = parsed.fault === "not-text" ? "invalid_text" : "invalid_image";
  return issueAt([index, "url"], code, `Image ${index + 1}: ${URL_FAULTS[parsed.fault]}`);
}

/** The longest prefix that is quoted completely; `data:image/svg+xml;charset=utf-8;base64,` has 39 characters. */
const DATA_PREFIX = /^\s*data:[^,]{0,100},/i;

function checkBase64(text: string, index: number): Finding {
  const invalid = (message: string) => issueAt([index, "base64"], "invalid_image", `Image ${index + 1}${message}`);
  const prefix = DATA_PREFIX.exec(text)?.[0].trimStart();
  if (prefix !== undefined) return invalid(`: remove the prefix ${quoteText(prefix)} and send only the Base64 text.`);
  if (text.trim() === "") return invalid(" is empty. Send the bytes of the file as Base64.");
  const bytes = measureBase64(text);
  if (bytes === null)
    return invalid(" is not valid Base64. Send the bytes of the file in the standard alphabet, with padding.");
  if (bytes > IMAGE_BYTES_MAX) {
    return invalid(` is ${inMebibytes(bytes)}; the limit is ${inMebibytes(IMAGE_BYTES_MAX)}.`);
  }
  if (findImageFormat(decodeHead(text, IMAGE_SIGNATURE_BYTES)) === null) {
    return invalid(" is not a PNG, JPEG, WebP, or GIF image.");
  }
  return { bytes };
}

function issueAt(at: readonly (string | number)[], code: IssueCode, message: string): Finding {
  return { issue: { path: [...PATH, ...at], code, message } };
}

/** One decimal, rounded up, so that a size just over a limit never looks like the limit itself. */
function inMebibytes(bytes: number): string {
  return `${Math.ceil((bytes / MEBIBYTE) * 10) / 10} MiB`;
}
