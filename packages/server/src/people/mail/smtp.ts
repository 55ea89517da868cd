/** Delivery over SMTP, by nodemailer: the only file that imports it. */
import { createTransport } from "nodemailer";
import { isLoopback } from "../../platform/config/config.ts";

interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Stays the same over attempts, so that a mail that arrives twice can be recognized. */
  readonly messageId: string;
}

/** @throws Error when the server did not take the mail. */
export type SendMail = (mail: Mail) => Promise<void>;

/** So that programs that answer mails by themselves leave it alone (RFC 3834). */
const HEADERS = { "Auto-Submitted": "auto-generated" };

/** An attempt ends within their sum, plus the silence that a server may keep between two answers. */
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
  return async ({ to, subject, text, messageId }) => {
    // As an object: a text would be taken apart at commas.
    await transport.sendMail({ to: { name: "", address: to }, subject, text, messageId, headers: HEADERS });
  };
}

/**
 * True: a password would cross a network. Whoever stands between may take STARTTLS out of the server's answer, so the mail
 * is not sent without. The address may end in `?requireTLS=false`, which wins over what is said here.
 */
function hasPasswordToProtect(url: string): boolean {
  const { password, hostname } = new URL(url);
  return password !== "" && !isLoopback(hostname);
}
