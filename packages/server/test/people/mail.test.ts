/** Mail: invitations, resets, and confirmations are sent over SMTP, after the request and without delaying it. */
import { createServer, type AddressInfo, type Socket } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { mintCode, openMailer } from "../../src/people/index.ts";
import { isRefusedForGood } from "../../src/people/mail/mailer.ts";
import { insertMail, takeDueMail } from "../../src/people/mail/mails-store.ts";
import { createSmtp } from "../../src/people/mail/smtp.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { readConfig } from "../../src/platform/config/config.ts";
import { createIdSource } from "../../src/platform/ids.ts";
import { createLog } from "../../src/platform/log.ts";
import { pollUntil } from "../../src/platform/resilience/deadline.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { startMailServer, type TestMailServer } from "./mail-fixture.ts";
import { clientOf, createTestPerson, PASSWORD, type TestPerson } from "./people-fixture.ts";
import { codeIn, cookiesOf, postAsPage } from "./page-requests.ts";

let mail: TestMailServer;
let server: TestServer;
let ada: TestPerson;
beforeAll(async () => {
  mail = await startMailServer({
    refuse: (recipient) => (recipient.startsWith("nobody") ? 550 : recipient.startsWith("busy") ? 451 : null),
  });
  server = await startTestServer({ environment: mailEnvironment() });
  ada = await createTestPerson(server, { email: "ada@example.org", isOperator: true });
});
afterAll(async () => {
  await server.close();
  await mail.close();
});

function mailEnvironment(changes: Record<string, string> = {}): Record<string, string> {
  return { PROMPTD_SMTP_URL: mail.url, PROMPTD_MAIL_FROM: "promptd <promptd@example.org>", ...changes };
}

const post = (path: string, body: unknown, where: { readonly url: string } = server) => postAsPage(where, path, body);
const signIn = (email: string, password: string, where = server) =>
  post("/manage/auth/sign-in/email", { email, password }, where);

test("an invitation goes only to its address, and opening it confirms the address", async () => {
  const invitation = await ada.client.send("createInvitation", {
    body: { email: "Grace@example.org", role: "member" },
  });
  expect(invitation.link).toBeNull();
  const { from, to, link, raw, headers } = await mail.waitFor("grace@example.org");
  expect([from, to]).toEqual(["promptd@example.org", ["grace@example.org"]]);
  expect(link).toMatch(new RegExp(`^${server.url}/invitation#`));
  expect(raw).toContain("Subject: Invitation to ");
  expect(headers).toMatch(/^Message-ID: <[-0-9a-f]+@example\.org>\r$/m);
  const body = { code: codeIn(link), name: "Grace", password: PASSWORD };
  expect(await clientOf(server, {}).send("acceptInvitation", { body })).toMatchObject({ kind: "signed_in" });
  const rows = await server.app.db.query<{ email: string; email_verified: boolean }>(
    "select email, email_verified from auth_users order by email",
  );
  expect(rows).toEqual([
    { email: "ada@example.org", email_verified: false },
    { email: "grace@example.org", email_verified: true },
  ]);
});

test("a mailbox is sent at most ten mails of a kind per hour, whoever requests them", async () => {
  const { db } = server.app;
  const config = readConfig({ DATABASE_URL: server.databaseUrl, ...mailEnvironment() });
  const mailer = openMailer({ db, config, log: createLog("error", "stderr"), newId: createIdSource(systemClock) });
  const send = (kind: "password_reset" | "invitation") =>
    mailer?.send("flooded@example.org", { kind, subject: "Subject", body: "Text" });
  for (let sent = 0; sent < 12; sent += 1) await send("password_reset");
  await send("invitation");
  const countMails = async () => {
    const text =
      "select kind, count(*)::int as n from mails where recipient = 'flooded@example.org' group by 1 order by 1";
    return (await db.query<{ kind: string; n: number }>(text)).map(({ kind, n }) => `${n} ${kind}`);
  };
  expect(await countMails()).toEqual(["1 invitation", "10 password_reset"]);
  await db.query("update mails set created_at = created_at - interval '1 hour'");
  await send("password_reset");
  expect(await countMails()).toEqual(["1 invitation", "11 password_reset"]);
  await mailer?.deliverDue();
});

test("a name that contains line breaks adds no lines to a mail", async () => {
  await server.app.db.query("update auth_users set name = $1 where id = $2", [
    "Ada\r\nBcc: eve@example.org\r\n\r\nClick here",
    ada.personId,
  ]);
  await ada.client.send("createInvitation", { body: { email: "lines@example.org", role: "member" } });
  const { raw, to } = await mail.waitFor("lines@example.org");
  expect(to).toEqual(["lines@example.org"]);
  expect(raw).toContain("Ada Bcc: eve@example.org Click here has invited you");
});

test("a mail has standard headers, each on lines that every server accepts, whatever the subject is", async () => {
  const send = createSmtp({ url: mail.url, from: "Prömptd <promptd@mail.exämple.org>" });
  const subject = `Invitation to ${"Zoë 🌈 and ".repeat(20)}\r\nBcc: eve@example.org\r\n\r\nClick here`;
  await send({ to: "headers@example.org", subject, text: "Hello Zoë", id: "mail-1" });
  const { headers, to } = await mail.waitFor("headers@example.org");
  expect(to).toEqual(["headers@example.org"]);
  expect(headers).toMatch(/^[\x20-\x7e\r\n]+$/);
  expect(headers.split("\r\n").filter((line) => line.length > 78)).toEqual([]);
  const field = (name: string) => new RegExp(`^${name}: (.+(\r\n\\s.+)*)$`, "m").exec(headers)?.[1]?.trim();
  expect(field("Message-ID")).toBe("<mail-1@mail.xn--exmple-cua.org>");
  expect(field("From")).toMatch(/^=\?UTF-8\?.+ <promptd@mail.xn--exmple-cua.org>$/);
  expect(Date.parse(field("Date") ?? "")).not.toBeNaN();
  expect([field("Auto-Submitted"), field("X-Auto-Response-Suppress")]).toEqual(["auto-generated", "All"]);
  expect([field("To"), field("Bcc"), field("Content-Type")]).toEqual([
    "headers@example.org",
    undefined,
    "text/plain; charset=utf-8",
  ]);
});

describe("a forgotten password", () => {
  test("is replaced through a link, once, which confirms the address and ends every session", async () => {
    const eve = await createTestPerson(server, { email: "eve@example.org" });
    const response = await post("/manage/auth/request-password-reset", { email: "Eve@example.org" });
    expect(response.status).toBe(200);
    const { link } = await mail.waitFor("eve@example.org");
    expect(link).toMatch(new RegExp(`^${server.url}/reset-password#`));
    const token = codeIn(link);
    const [stored] = await server.app.db.query<{ n: number }>(
      "select count(*)::int as n from auth_verifications where position($1 in identifier || value) > 0",
      [token],
    );
    expect(stored?.n).toBe(0);
    const newPassword = "another long enough password";
    const isConfirmed = "select email_verified as v from auth_users where id = $1";
    expect((await post("/manage/auth/reset-password", { token, newPassword: "short" })).status).toBe(400);
    expect(await server.app.db.query(isConfirmed, [eve.personId])).toEqual([{ v: false }]);
    expect((await post("/manage/auth/reset-password", { token, newPassword })).status).toBe(200);
    expect(await server.app.db.query(isConfirmed, [eve.personId])).toEqual([{ v: true }]);
    expect((await post("/manage/auth/reset-password", { token, newPassword })).status).toBe(400);
    await expect(eve.client.send("getSession")).rejects.toMatchObject({ code: "UNAUTHORIZED_ERROR" });
    expect((await signIn("eve@example.org", PASSWORD)).status).toBe(401);
    expect((await signIn("eve@example.org", newPassword)).status).toBe(200);
  });

  test("is replaced only through the links requested since the last new password, however that was set", async () => {
    const email = "fay@example.org";
    const fay = await createTestPerson(server, { email });
    const passwords = [
      "by a mailed link, long enough",
      "in the settings, long enough",
      "by an operator's link",
    ] as const;
    let mails = 0;
    const requestLink = async () => {
      await server.app.db.query("delete from auth_rate_limits");
      await post("/manage/auth/request-password-reset", { email });
      mails += 1;
      return codeIn((await mail.waitFor(email, mails)).link);
    };
    const reset = async (token: string, newPassword: string) =>
      (await post("/manage/auth/reset-password", { token, newPassword })).status;
    const [used, left] = [await requestLink(), await requestLink()];
    expect([await reset(used, passwords[0]), await reset(left, PASSWORD)]).toEqual([200, 400]);

    const beforeChange = await requestLink();
    const change = { currentPassword: passwords[0], newPassword: passwords[1] };
    const cookie = cookiesOf(await signIn(email, passwords[0]));
    expect((await postAsPage(server, "/manage/auth/change-password", change, { cookie })).status).toBe(200);
    expect(await reset(beforeChange, PASSWORD)).toBe(400);

    const beforeWelcome = await requestLink();
    const { personId } = fay;
    const code = await mintCode(server.app.db, { personId, accountId: null, makesOperator: false, signsIn: false });
    expect((await post("/manage/v1/welcome", { code, password: passwords[2] })).status).toBe(200);
    expect(await reset(beforeWelcome, PASSWORD)).toBe(400);
    expect((await signIn(email, passwords[2])).status).toBe(200);
  });

  test("gets the same response for an unknown address, before anybody is looked up", async () => {
    const answers: unknown[] = [];
    await server.app.db.tx(async (tx) => {
      // Nobody can read a person now, so a response that depended on that would have to wait.
      await tx.query("lock table auth_users, auth_verifications in access exclusive mode");
      for (const email of ["ada@example.org", "unknown@example.org"]) {
        const answer = await post("/manage/auth/request-password-reset", { email });
        answers.push([answer.status, await answer.json()]);
      }
    });
    expect(answers[0]).toEqual([200, expect.objectContaining({ status: true })]);
    expect(answers[1]).toEqual(answers[0]);
    await mail.waitFor("ada@example.org");
    expect(mail.received.some(({ to }) => to.includes("unknown@example.org"))).toBe(false);
  });
});

describe("a mail that is not accepted", () => {
  const stateUntil = (done: (state: { waiting: number; givenUp: number }) => boolean) =>
    pollUntil(
      async () => {
        const { mail: state } = await ada.client.send("getSystem");
        return done(state) ? state : null;
      },
      { everyMs: 20, timeoutMs: 10_000 },
    );

  test("is given up after a permanent refusal, and the operator learns why", async () => {
    await ada.client.send("createInvitation", { body: { email: "nobody@example.org", role: "member" } });
    expect(await stateUntil(({ givenUp }) => givenUp === 1)).toMatchObject({
      waiting: 0,
      lastFault: { text: expect.stringContaining("550") },
    });
    const [row] = await server.app.db.query("select body from mails where given_up_at is not null");
    expect(row).toEqual({ body: null });
  });

  test("is not given up when the server refuses the sign-in: the password may be mistyped", async () => {
    const address = new URL(mail.url);
    const failed = (user: string) => {
      const send = createSmtp({ url: `smtp://${user}:wrong@${address.host}`, from: "promptd@example.org" });
      return send({ to: "nobody@example.org", subject: "s", text: "t", id: "1" }).then(
        () => null,
        (error: unknown) => isRefusedForGood(error),
      );
    };
    expect([await failed("unknown"), await failed("known")]).toEqual([false, true]);
  });

  test("is not sent to another machine with a password that could be read on the way, unless the address says so", async () => {
    const { port } = new URL(mail.url);
    const send = (end: string) => {
      // A name that leads to this machine, but is not written like a local address.
      const smtp = createSmtp({ url: `smtp://known:x@0.0.0.0:${port}${end}`, from: "promptd@example.org" });
      return smtp({ to: "tls@example.org", subject: "s", text: "t", id: "1" });
    };
    await expect(send("")).rejects.toThrow("STARTTLS");
    await send("?requireTLS=false");
  });

  test("is retried when the server is busy", async () => {
    await ada.client.send("createInvitation", { body: { email: "busy@example.org", role: "member" } });
    const state = await stateUntil(({ waiting }) => waiting === 1);
    expect(state).toMatchObject({ givenUp: 1 });
  });
});

test("a mail server that does not respond delays nobody", async () => {
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => void sockets.add(socket));
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", () => resolve()));
  const { port } = silent.address() as AddressInfo;
  const slow = await startTestServer({
    environment: mailEnvironment({ PROMPTD_SMTP_URL: `smtp://127.0.0.1:${port}` }),
  });
  try {
    const owner = await createTestPerson(slow, { isOperator: true });
    await owner.client.send("createInvitation", { body: { email: "late@example.org", role: "member" } });
    expect((await owner.client.send("getSystem")).mail).toMatchObject({ waiting: 1, givenUp: 0 });
  } finally {
    for (const socket of sockets) socket.destroy();
    silent.close();
    await slow.close();
  }
});

describe("with open sign-up", () => {
  let open: TestServer;
  beforeAll(async () => {
    open = await startTestServer({ environment: mailEnvironment({ PROMPTD_SIGN_UP: "open" }) });
  });
  afterAll(() => open.close());
  // Every browser of this file has the same address, and the library limits sign-ups by address.
  beforeEach(() => open.app.db.query("delete from auth_rate_limits").then(() => undefined));

  const signUp = (email: string) =>
    post("/manage/auth/sign-up/email", { email, password: PASSWORD, name: "Lin" }, open);

  /** Does what a link's page does when somebody presses its button. */
  async function confirm(link: string): Promise<{ status: number; cookie: string }> {
    const token = new URL(link).hash.slice(1);
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${open.url}/manage/auth/verify-email?token=${token}`, { headers, redirect: "manual" });
    return { status: answer.status, cookie: cookiesOf(answer) };
  }

  test("programs that open links in mails confirm no address, and sign nobody in", async () => {
    await signUp("scanned@example.org");
    const { link } = await mail.waitFor("scanned@example.org");
    expect(link).toMatch(new RegExp(`^${open.url}/confirm-address#`));
    const bare = `${open.url}/manage/auth/verify-email?token=${new URL(link).hash.slice(1)}&callbackURL=%2F`;
    for (const address of [link, bare]) {
      for (const method of ["HEAD", "GET"]) {
        const opened = await fetch(address, { method, redirect: "manual" });
        expect([address, method, opened.headers.getSetCookie()]).toEqual([address, method, []]);
      }
    }
    expect((await fetch(bare, { redirect: "manual" })).headers.get("location")).toBe(link);
    expect((await signIn("scanned@example.org", PASSWORD, open)).status).toBe(403);
    expect((await confirm(link)).status).toBe(200);
    expect((await signIn("scanned@example.org", PASSWORD, open)).status).toBe(200);
  });

  test("a confirmation link that is opened again signs nobody in", async () => {
    await signUp("twice@example.org");
    const { link } = await mail.waitFor("twice@example.org");
    expect((await confirm(link)).cookie).not.toBe("");
    expect(await confirm(link)).toEqual({ status: 200, cookie: "" });
  });

  test("nobody signs in before the address is confirmed, and nobody learns who already has an account", async () => {
    const first = await signUp("lin@example.org");
    expect([first.status, first.headers.getSetCookie()]).toEqual([200, []]);
    const { link } = await mail.waitFor("lin@example.org");
    expect((await signIn("lin@example.org", PASSWORD, open)).status).toBe(403);
    const again = await signUp("lin@example.org");
    expect([again.status, Object.keys((await again.json()) as object)]).toEqual([
      200,
      Object.keys((await first.json()) as object),
    ]);
    const { cookie } = await confirm(link);
    expect(await clientOf(open, { cookie }).send("getSession")).toMatchObject({ person: { email: "lin@example.org" } });
  });
});

test("a mail whose next attempt is days away, because the clock has stepped back since, is due at once", async () => {
  const own = await startTestServer({ role: "worker" }); // without mail, so that nothing takes them
  const { db } = own.app;
  const text = { kind: "invitation", subject: "s", body: "b" } as const;
  const ids = ["01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a", "01a1f874-3e4b-7d21-a4c8-5b7e11f20d3b"];
  for (const mailId of ids) await insertMail(db, { ...text, mailId, recipient: "ada@example.org" });
  const dueIn = (mailId: string | undefined, span: string) =>
    db.query("update mails set due_at = promptd_now() + $2::interval where id = $1", [mailId, span]);
  await dueIn(ids[0], "20 minutes");
  await dueIn(ids[1], "2 days");
  expect([(await takeDueMail(db, 120))?.id, await takeDueMail(db, 120)]).toEqual([ids[1], null]);
  await own.close();
});
