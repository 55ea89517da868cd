/** A local mail server like a real one: it speaks SMTP, and may refuse mail. */
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { postAsPage } from "./page-requests.ts";

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and text, decoded. */
  readonly raw: string;
  /** The headers as they arrived. */
  readonly headers: string;
  /** The first link in the mail. */
  readonly link: string;
}

export interface TestMailServer {
  readonly url: string;
  readonly received: readonly ReceivedMail[];
  /** Resolves with the n-th mail of a recipient, counted from 1. */
  waitFor(recipient: string, nth?: number): Promise<ReceivedMail>;
  close(): Promise<void>;
}

export interface MailServerOptions {
  /** Answers a recipient with this SMTP status, such as 550, instead of accepting it; null: accepts it. */
  readonly refuse?: (recipient: string) => number | null;
}

export async function startMailServer({ refuse = () => null }: MailServerOptions = {}): Promise<TestMailServer> {
  const received: ReceivedMail[] = [];
  const waiting = new Set<() => void>();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onAuth({ username }, _session, callback) {
      if (username === "known") callback(null, { user: username });
      else callback(Object.assign(new Error("Authentication failed."), { responseCode: 535 }));
    },
    onRcptTo({ address }, _session, callback) {
      const status = refuse(address);
      callback(status === null ? null : Object.assign(new Error("Refused."), { responseCode: status }));
    },
    onData(stream, { envelope }, callback) {
      const parts: Buffer[] = [];
      stream.on("data", (part: Buffer) => parts.push(part));
      stream.on("end", () => {
        const sent = Buffer.concat(parts).toString();
        const [headers = ""] = sent.split("\r\n\r\n");
        const raw = decode(sent);
        const from = envelope.mailFrom === false ? "" : envelope.mailFrom.address;
        const to = envelope.rcptTo.map(({ address }) => address);
        const [link = ""] = /https?:\/\/\S+/.exec(raw) ?? [];
        received.push({ from, to, raw, headers, link });
        callback();
        for (const check of waiting) check();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    received,
    waitFor: (recipient, nth = 1) =>
      new Promise((resolve) => {
        const check = () => {
          const mail = received.filter(({ to }) => to.includes(recipient))[nth - 1];
          if (mail === undefined) return;
          waiting.delete(check);
          resolve(mail);
        };
        waiting.add(check);
        check();
      }),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

export interface ServerWithMail {
  readonly mail: TestMailServer;
  readonly server: TestServer;
  /** A request to `/manage/auth` from its own address, because attempts per address are limited. */
  readonly post: (path: string, body: unknown, cookie?: string) => Promise<Response>;
  readonly close: () => Promise<void>;
}

/** A promptd server behind a proxy, with its own mail server. */
export async function startServerWithMail(): Promise<ServerWithMail> {
  const mail = await startMailServer();
  const environment = { PROMPTD_SMTP_URL: mail.url, PROMPTD_MAIL_FROM: "promptd@example.org", PROMPTD_PROXIES: "1" };
  const server = await startTestServer({ environment });
  let peer = 0;
  return {
    mail,
    server,
    post: (path, body, cookie = "") => {
      peer += 1;
      return postAsPage(server, `/manage/auth${path}`, body, { "x-forwarded-for": `10.3.3.${peer}`, cookie });
    },
    close: async () => {
      await server.close();
      await mail.close();
    },
  };
}

/** Quoted-printable: long links are split over several lines. */
function decode(raw: string): string {
  return raw
    .replaceAll("=\r\n", "")
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}
