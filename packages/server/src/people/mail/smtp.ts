/** Delivers mail over SMTP with nodemailer: the only file that imports it. */
import { domainToASCII } from "node:url";
import { createTransport } from "nodemailer";
import { isLoopback } from "../../platform/config/config.ts";

interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Stays the same across attempts, and so does the Message-ID: mail servers recognize duplicates by it. */
  readonly id: string;
}

/** @throws Error if the server did not accept the mail. */
export type SendMail = (mail: Mail) => Promise<void>;

/** So that programs that answer mail automatically ignore it (RFC 3834); Exchange only knows its own header. */
const HEADERS = { "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All" };

/** An attempt ends within the sum of these, plus the time a server may stay silent between two responses. */
const CONNECT_MS = 10_000;
const SILENCE_MS = 20_000;

/**
 * @param options `url`: `smtp://user:password@host:587`, or smtps:// for TLS from the first byte; `from`: such as
 * `promptd <promptd@example.org>`.
 */
export function createSmtp({ url, from }: { readonly url: string; readonly from: string }): SendMail {
  const transport = createTransport(
    {
      url,
      requireTLS: hasPasswordToProtect(url),
      connectionTimeout: CONNECT_MS,
      greetingTimeout: CONNECT_MS,
      socketTimeout: SILENCE_MS,
      dnsTimeout: CONNECT_MS,
    },
    { from, disableFileAccess: true, disableUrlAccess: true },
  );
  const domain = domainOf(from);
  return async ({ to, subject, text, id }) => {
    const messageId = `<${id}@${domain}>`;
    // An object, because a plain text would be split at commas.
    await transport.sendMail({ to: { name: "", address: to }, subject, text, messageId, headers: HEADERS });
  };
}

/** The sender's domain, which makes ids unique: filters distrust mail that is named after another domain. */
function domainOf(from: string): string {
  const [, domain = ""] = /@([^@\s>]+)>?\s*$/.exec(from) ?? [];
  return domainToASCII(domain) || "localhost";
}

/**
 * True: a password would be sent over a network. An attacker on the path could remove STARTTLS from the server's
 * response, so without TLS the mail is not sent. The address may end in `?requireTLS=false`, which overrides this.
 */
function hasPasswordToProtect(url: string): boolean {
  const { password, hostname } = new URL(url);
  return password !== "" && !isLoopback(hostname);
}
