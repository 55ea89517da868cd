/** Ways to sign in: a forgotten password, a sign-in service, a passkey. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startMailServer, type TestMailServer } from "../../server/test/people/mail-fixture.ts";
import { startOidc, type TestOidc } from "../../server/test/people/oidc-fixture.ts";
import { createTestPerson, PASSWORD } from "../../server/test/people/people-fixture.ts";
import { startTestServer, type TestServer } from "../../server/test/support/test-server.ts";
import { findBrowser, openBrowser, signInAs, travel, type TestBrowser } from "./support/browser.ts";
import { DIST } from "./support/build.ts";
import { faultsOfPage } from "./support/pages.ts";

let server: TestServer;
let mail: TestMailServer;
let oidc: TestOidc;
let browser: TestBrowser;
beforeAll(async () => {
  if (findBrowser() === null) return;
  const person = { sub: "1", email: "lin@example.org", email_verified: true, name: "Lin" };
  [mail, oidc, browser] = await Promise.all([startMailServer(), startOidc(person), openBrowser()]);
  const environment = {
    PROMPTD_SIGN_UP: "open",
    PROMPTD_SMTP_URL: mail.url,
    PROMPTD_MAIL_FROM: "promptd <promptd@example.org>",
    OIDC_ISSUER: oidc.issuer,
    OIDC_CLIENT_ID: oidc.clientId,
    OIDC_CLIENT_SECRET: oidc.clientSecret,
    OIDC_NAME: "Example Inc.",
  };
  server = await startTestServer({ consoleDirectory: DIST, environment });
});
afterAll(async () => {
  await browser?.close();
  await server?.close();
  await Promise.all([mail?.close(), oidc?.close()]);
});

/** Every browser of this file has the same address, and sign-ins are limited by address. */
const forgetSignIns = () => server.app.db.query("delete from auth_rate_limits").then(() => undefined);

describe.skipIf(findBrowser() === null)("signing in", () => {
  afterEach(forgetSignIns);

  test("people who are already signed in skip the sign-in page, and no foreign address redirects them", async () => {
    const person = await createTestPerson(server);
    await travel(browser, "signed-in-already", async ({ page, complaints }) => {
      await signInAs(page, server.url, person);
      await page.goto(`${server.url}/sign-in?from=%2Fkeys`);
      await page.getByRole("heading", { name: "Keys", level: 1 }).waitFor();
      await page.goto(`${server.url}/sign-in?from=%2F%2Fexample.org`);
      await page.getByLabel("Search prompts").waitFor();
      expect(complaints).toEqual([]);
    });
  });

  test("a page whose link has lost its code asks for the complete link, and for nothing else", async () => {
    await travel(browser, "lost-code", async ({ page, complaints }) => {
      for (const path of ["welcome", "invitation", "reset-password", "new-address", "confirm-address"]) {
        await page.goto(`${server.url}/${path}`);
        await page.getByText("Open the complete link again.").waitFor();
        expect([path, await page.getByRole("button").count()]).toEqual([path, 0]);
      }
      expect(complaints).toEqual([]);
    });
  });

  test("a person who forgot their password signs in with an emailed link and a new password", async () => {
    const email = "forgetful@example.org";
    await createTestPerson(server, { email });
    await server.app.db.query("update auth_users set email_verified = true where email = $1", [email]);
    await travel(browser, "forgotten", async ({ page, complaints }) => {
      await page.goto(`${server.url}/sign-in`);
      await page.getByRole("link", { name: "Request a link" }).click();
      await page.getByRole("heading", { name: "Forgot your password?" }).waitFor(); // both pages ask for the email
      await page.getByLabel("Email").fill(email);
      await page.getByRole("button", { name: "Send link" }).click();
      await page.getByText(`If someone signs in here with ${email}`).waitFor();
      const { link } = await mail.waitFor(email);
      await page.goto(link);
      await page.getByLabel("New password").fill("another long password");
      await page.getByRole("button", { name: "Change password" }).click();
      await page.getByRole("heading", { name: "Password changed" }).waitFor();
      expect(page.url()).not.toContain("#");
      await page.getByRole("link", { name: "Sign in" }).click();
      await page.getByLabel("Email").fill(email);
      await page.getByLabel("Password").fill("another long password");
      await page.getByRole("button", { name: "Sign in", exact: true }).click();
      await page.getByLabel("Search prompts").waitFor();
      expect(complaints).toEqual([]);
    });
  });

  test("a person signs in with a new address after opening the link sent to it", async () => {
    const email = "moving@example.org";
    const person = await createTestPerson(server, { email });
    await server.app.db.query("update auth_users set email_verified = true where email = $1", [email]);
    await travel(browser, "moving", async ({ page, complaints }) => {
      await signInAs(page, server.url, person);
      await page.goto(`${server.url}/settings`);
      await page.getByLabel("New email").fill("moved@example.org");
      await page.getByLabel("Your password").fill(PASSWORD);
      await page.getByRole("button", { name: "Send link" }).click();
      await page.getByText("An email is on its way to moved@example.org.").waitFor();
      await page.goto((await mail.waitFor("moved@example.org")).link);
      await page.getByRole("button", { name: "Confirm address" }).click();
      await page.getByText("From now on, sign in as moved@example.org.").waitFor();
      expect(page.url()).not.toContain("#");
      await page.getByRole("link", { name: "Continue" }).click();
      await page.getByLabel("Search prompts").waitFor();
      expect(complaints).toEqual([]);
    });
    expect((await mail.waitFor(email)).raw).toContain("moved@example.org");
  });

  test("a sign-in service leads back to the requested page, once it can be reached, and people who may not sign in see why", async () => {
    await travel(browser, "service", async ({ page }) => {
      await page.goto(`${server.url}/runs`);
      const service = page.getByRole("button", { name: "Sign in with Example Inc." });
      oidc.isDown = true;
      await service.click();
      await page.getByText("The sign-in service cannot be reached right now.").waitFor();
      oidc.isDown = false;
      await service.click();
      await page.getByRole("heading", { name: "Runs", level: 1 }).waitFor();
      expect(new URL(page.url()).pathname).toBe("/runs");
    });
    await forgetSignIns();
    await createTestPerson(server, { email: "taken@example.org" });
    oidc.person = { sub: "2", email: "taken@example.org", email_verified: false, name: "Somebody" };
    await travel(browser, "service-refused", async ({ page }) => {
      await page.goto(`${server.url}/sign-in`);
      await page.getByRole("button", { name: "Sign in with Example Inc." }).click();
      await page.getByText("Sign in with your password, or request a link to set one. Then link the service").waitFor();
      const service = page.getByRole("button", { name: "Sign in with Example Inc." });
      oidc.person = { sub: "4", email: "unconfirmed@example.org", email_verified: false, name: "Somebody" };
      await service.click();
      await page.getByText("Your email address is not confirmed yet.").waitFor();
      await page.goto((await mail.waitFor("unconfirmed@example.org")).link);
      await page.getByRole("button", { name: "Confirm and sign in" }).click();
      await page.getByLabel("Search prompts").waitFor();
    });
  });

  test("an invited person uses a sign-in service, without a password", async () => {
    const owner = await createTestPerson(server);
    const email = "invited@example.org";
    await owner.client.send("createInvitation", { body: { email, role: "member" } });
    oidc.person = { sub: "3", email, email_verified: true, name: "Invited" };
    await travel(browser, "invited-service", async ({ page }) => {
      await page.goto((await mail.waitFor(email)).link);
      await page.getByRole("button", { name: "Sign in with Example Inc." }).click();
      await page.getByText(`You are signed in as ${email}.`).waitFor();
      await page.getByRole("button", { name: "Accept" }).click();
      await page.getByLabel("Search prompts").waitFor();
    });
    expect((await owner.client.send("listMembers")).rows.map((member) => member.email)).toContain(email);
  });

  test("a signed-in person joins by accepting an invitation, not by opening its link", async () => {
    const email = "bob@example.org";
    const [ada, bob] = [await createTestPerson(server), await createTestPerson(server, { email })];
    await ada.client.send("createInvitation", { body: { email, role: "member" } });
    const members = async () => (await ada.client.send("listMembers")).rows.length;
    await travel(browser, "invited-signed-in", async ({ page, complaints }) => {
      await signInAs(page, server.url, bob);
      await page.goto((await mail.waitFor(email)).link);
      await page.getByText(`You are signed in as ${email}.`).waitFor();
      expect([await faultsOfPage(page, "invitation-signed-in"), await members()]).toEqual([[], 1]);
      await page.getByRole("button", { name: "Accept" }).click();
      await page.getByLabel("Search prompts").waitFor();
      expect(await members()).toBe(2);
      expect(complaints).toEqual([]);
    });
  });

  test("a passkey that a person added signs them in until it is removed", async () => {
    const ada = await createTestPerson(server, { email: "passkey@example.org" });
    // Browsers create passkeys only for a domain, so this uses localhost.
    const url = server.url.replace("127.0.0.1", "localhost");
    await travel(browser, "passkey", async ({ page }) => {
      const tools = await page.context().newCDPSession(page);
      await tools.send("WebAuthn.enable");
      const { authenticatorId } = await tools.send("WebAuthn.addVirtualAuthenticator", {
        options: {
          protocol: "ctap2",
          transport: "internal",
          hasResidentKey: true,
          hasUserVerification: true,
          isUserVerified: true,
          automaticPresenceSimulation: true,
        },
      });
      await signInAs(page, url, ada);
      await page.goto(`${url}/settings/security`);
      await page.getByRole("button", { name: "Add passkey" }).click();
      await page.getByRole("dialog").getByLabel("Name").fill("Laptop");
      await page.getByRole("dialog").getByLabel("Your password").fill("not my password");
      await page.getByRole("dialog").getByRole("button", { name: "Continue" }).click();
      await page.getByRole("dialog").getByText("This is not your password.").waitFor();
      await page.getByRole("dialog").getByLabel("Your password").fill(PASSWORD);
      await page.getByRole("dialog").getByRole("button", { name: "Continue" }).click();
      const passkeys = page.getByRole("table", { name: "Passkeys" });
      await passkeys.getByText("never").waitFor();
      const addAnother = async (message: string) => {
        await page.getByRole("button", { name: "Add passkey" }).click();
        await page.getByRole("dialog").getByLabel("Your password").fill(PASSWORD);
        await page.getByRole("dialog").getByRole("button", { name: "Continue" }).click();
        await page.getByRole("dialog").getByText(message).waitFor();
        await page.keyboard.press("Escape");
      };
      await addAnother("This device already has a passkey for your account.");
      const verifyPerson = (isUserVerified: boolean) =>
        tools.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified });
      await verifyPerson(false);
      await addAnother("The request was canceled or timed out. Try again.");
      await verifyPerson(true);

      await page.context().clearCookies();
      await page.goto(`${url}/keys`);
      await page.getByRole("button", { name: "Sign in with a passkey" }).click();
      await page.getByRole("heading", { name: "Keys", level: 1 }).waitFor();

      await page.goto(`${url}/settings/security`);
      await passkeys.getByText(/ s ago/).waitFor();
      await page.getByRole("button", { name: "Remove Laptop" }).click();
      await page.getByText("You will no longer be able to sign in with it.").waitFor();
      await server.app.db.query("delete from auth_logins where user_id = $1", [ada.personId]);
      await page.reload();
      await page.getByRole("button", { name: "Remove Laptop" }).click();
      await page.getByText("You have no other way to sign in.").waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "Remove passkey" }).click();
      await passkeys.waitFor({ state: "detached" });
      await page.context().clearCookies();
      await page.goto(`${url}/sign-in`);
      await page.getByRole("button", { name: "Sign in with a passkey" }).click();
      await page.getByText("This passkey cannot sign you in here.").waitFor();
      expect(new URL(page.url()).pathname).toBe("/sign-in");
    });
    expect((await ada.client.send("listPasskeys")).rows).toEqual([]);
  });

  test("a page at another address than the server's says where its passkeys work", async () => {
    await travel(browser, "passkey-elsewhere", async ({ page }) => {
      await page.goto(`${server.url.replace("127.0.0.1", "promptd.localhost")}/sign-in`);
      await page.getByRole("button", { name: "Sign in with a passkey" }).click();
      await page.getByText("Passkeys for this server work only at localhost.").waitFor();
      expect(new URL(page.url()).pathname).toBe("/sign-in");
    });
  });

  test("a person who signs up gets in after confirming the address on the emailed page, not before", async () => {
    const email = "new@example.org";
    await travel(browser, "sign-up", async ({ page }) => {
      await page.goto(`${server.url}/sign-up`);
      await page.getByLabel("Email").fill(email);
      await page.getByLabel("Name").fill("Newcomer");
      await page.getByLabel("Password").fill(PASSWORD);
      await page.keyboard.press("Enter");
      await page.getByText(`A link to confirm ${email} is on its way.`).waitFor();
      await page.goto(`${server.url}/sign-in`);
      await page.getByLabel("Email").fill(email);
      await page.getByLabel("Password").fill(PASSWORD);
      await page.keyboard.press("Enter");
      await page.getByText("Your email address is not confirmed yet.").waitFor();
      const { link } = await mail.waitFor(email, 2);
      const confirm = page.getByRole("button", { name: "Confirm and sign in" });
      await page.goto(link);
      await confirm.click();
      await page.getByLabel("Search prompts").waitFor();
      expect(new URL(page.url()).pathname).toBe("/");
      await page.context().clearCookies();
      await page.goto(link);
      await confirm.click();
      await page.getByRole("heading", { name: "Address confirmed" }).waitFor();
    });
  });
});

describe.skipIf(findBrowser() === null)("linking a sign-in service", () => {
  afterEach(forgetSignIns);

  test("a person links a sign-in service that knows another address, signs in with it, and unlinks it", async () => {
    const ada = await createTestPerson(server, { email: "links@example.org" });
    await server.app.db.query("update auth_users set email_verified = true where id = $1", [ada.personId]);
    oidc.person = { sub: "5", email: "ada@work.example.org", email_verified: true, name: "Ada" };
    await travel(browser, "linked-service", async ({ page, complaints }) => {
      await signInAs(page, server.url, ada);
      await page.goto(`${server.url}/settings/security`);
      const services = page.getByRole("table", { name: "Sign-in services" });
      await services.getByText("not linked").waitFor();
      await page.getByRole("button", { name: "Link Example Inc." }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Your password").fill("not the password");
      await dialog.getByRole("button", { name: "Continue" }).click();
      await dialog.getByText("This is not your password. Try again.").waitFor();
      expect(await faultsOfPage(page, "link-service")).toEqual([]);
      await dialog.getByLabel("Your password").fill(PASSWORD);
      await dialog.getByRole("button", { name: "Continue" }).click();
      await page.getByText("Example Inc. linked. You can sign in with it from now on").waitFor();
      await services.getByText(/^linked /).waitFor();
      expect(page.url()).toBe(`${server.url}/settings/security`);
      expect(await faultsOfPage(page, "linked-service")).toEqual([]);

      await page.context().clearCookies();
      await page.goto(`${server.url}/sign-in?from=/settings/security`);
      await page.getByRole("button", { name: "Sign in with Example Inc." }).click();
      await page.getByRole("button", { name: "Unlink Example Inc." }).click();
      await page.getByText("Your account there stays as it is.").waitFor();
      await dialog.getByLabel("Your password").fill(PASSWORD);
      await dialog.getByRole("button", { name: "Unlink" }).click();
      await services.getByText("not linked").waitFor();
      // The browser reports each refused password.
      expect(complaints.filter((complaint) => !complaint.includes("400 (Bad Request)"))).toEqual([]);
    });
  });

  test("a person who links somebody else's account at a sign-in service, or cancels there, sees why nothing was linked", async () => {
    const ada = await createTestPerson(server);
    oidc.person = { sub: "1", email: "lin@example.org", email_verified: true, name: "Lin" };
    await travel(browser, "not-linked-service", async ({ page }) => {
      await signInAs(page, server.url, ada);
      await page.goto(`${server.url}/settings/security`);
      await page.getByRole("button", { name: "Link Example Inc." }).click();
      await page.getByRole("dialog").getByLabel("Your password").fill(PASSWORD);
      await page.getByRole("dialog").getByRole("button", { name: "Continue" }).click();
      await page.getByText("This account at Example Inc. is already linked to another person here.").waitFor();
      expect(await faultsOfPage(page, "not-linked-service")).toEqual([]);
      await page.goto(`${server.url}/settings/security?service=oidc&error=access_denied`);
      await page.getByText("You canceled at Example Inc., so nothing was linked.").waitFor();
    });
  });
});
