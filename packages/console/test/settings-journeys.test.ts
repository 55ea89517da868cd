/** What people change about themselves and their accounts in the console. */
import { CARRIED_CODE } from "@promptd/contract/manage";
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readFile } from "node:fs/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { createTestPerson, PASSWORD, tokenClient, totpOf } from "../../server/test/people/people-fixture.ts";
import type { TestServer } from "../../server/test/support/test-server.ts";
import { isVerified, startWebhookReceiver } from "../../server/test/webhooks/webhook-receiver.ts";
import { findBrowser, signInAs, travel, type TestBrowser } from "./support/browser.ts";
import { faultsOfPage } from "./support/pages.ts";
import { useConsole } from "./support/use-console.ts";

const PROMPT = `---
promptd: 1
title: Echo of a word
model: sandbox/text
inputs: { word: { label: Word } }
---
Say {{ word }}.
`;

let server: TestServer;
let browser: TestBrowser;
useConsole(
  {
    PROMPTD_SIGN_UP_PLAN: "pro",
    PROMPTD_SIGN_UP_CREDITS: "1000",
    PROMPTD_WEBHOOK_PRIVATE_ADDRESSES: "on",
  },
  (opened) => {
    ({ server, browser } = opened);
  },
);

describe.skipIf(findBrowser() === null)("in the settings", () => {
  test("a person turns on two-factor authentication, and the next sign-in asks for a code", async () => {
    const email = "factor@example.org";
    const ada = await createTestPerson(server, { email });
    await travel(browser, "factor", async ({ page }) => {
      await signInAs(page, server.url, ada);
      await page.goto(`${server.url}/settings/security`);
      await page.getByRole("button", { name: "Turn on" }).click();
      await page.getByRole("dialog").getByLabel("Password").fill(PASSWORD);
      await page.getByRole("dialog").getByRole("button", { name: "Continue" }).click();
      await page.getByRole("img", { name: /Code to scan/ }).waitFor();
      const secret = await page.locator("code", { hasText: /^[A-Z2-7]{16,}$/ }).innerText();
      await page.getByLabel("Code from the app").fill(totpOf(secret));
      await page.getByRole("button", { name: "Confirm" }).click();
      const backup = await page.getByRole("listitem").filter({ hasText: "-" }).first().innerText();
      await travel(browser, "factor-again", async ({ page: again }) => {
        await again.goto(`${server.url}/sign-in`);
        await again.getByLabel("Email").fill(email);
        await again.getByLabel("Password").fill(PASSWORD);
        await again.getByRole("button", { name: "Sign in" }).click();
        await again.getByLabel("Code").fill(backup);
        await again.getByRole("button", { name: "Confirm" }).click();
        await again.getByLabel("Search prompts").waitFor();
        expect(new URL(again.url()).pathname).toBe("/");
      });
      await page.getByRole("button", { name: "Turn off" }).click();
      await page.getByRole("dialog").getByLabel("Password").fill(PASSWORD);
      await page.getByRole("dialog").getByRole("button", { name: "Turn off" }).click();
      await page.getByText(/An authenticator app on your phone/).waitFor();
    });
  });

  test("a management token is shown once, has the chosen permissions, and is revoked", async () => {
    const ada = await createTestPerson(server);
    await travel(browser, "token", async ({ page, complaints }) => {
      await signInAs(page, server.url, ada);
      await page.goto(`${server.url}/settings/tokens`);
      await page.getByRole("button", { name: "Create token" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Name").fill("reads runs");
      await dialog.getByRole("button", { name: "Create token" }).click();
      await dialog.getByText("Choose at least one permission").waitFor();
      await dialog.getByLabel(/runs:read/).check();
      await dialog.getByRole("button", { name: "Create token" }).click();
      const token = await page.locator("section", { hasText: "is ready" }).locator("code").first().innerText();
      const ask = () => tokenClient(server, token).request({ method: "GET", path: "/manage/v1/runs" });
      expect((await ask()).httpStatus).toBe(200);
      const keys = await tokenClient(server, token).request({ method: "GET", path: "/manage/v1/keys" });
      expect(keys.httpStatus).toBe(401);
      await page.getByRole("button", { name: "Revoke reads runs" }).click();
      await dialog.getByRole("button", { name: "Revoke token" }).click();
      await page.getByText("revoked", { exact: true }).waitFor();
      expect((await ask()).httpStatus).toBe(401);
      expect(complaints).toEqual([]);
    });
  });

  test("an invited owner signs up, creates a key, and runs a prompt with it", async () => {
    const ada = await createTestPerson(server);
    const { promptVersionId } = await server.publish(PROMPT);
    let link = "";
    await travel(browser, "inviting", async ({ page }) => {
      await signInAs(page, server.url, ada);
      await page.goto(`${server.url}/settings/members`);
      await page.getByRole("button", { name: "Invite" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Email").fill("second@example.org");
      await dialog.getByLabel("Role").selectOption("owner");
      await dialog.getByRole("button", { name: "Invite" }).click();
      link = await page.locator("section", { hasText: "Invitation link for" }).locator("code").first().innerText();
      await page
        .getByRole("table", { name: "Invitations" })
        .getByText(/open until/)
        .waitFor();
    });
    await travel(browser, "invited-owner", async ({ page, complaints }) => {
      await page.goto(link);
      await page.getByLabel("Name").fill("Second Owner");
      await page.getByLabel("Password").fill(PASSWORD);
      await page.getByRole("button", { name: "Set up and sign in" }).click();
      await page.getByRole("link", { name: "Keys" }).click();
      await page.getByRole("button", { name: "Create key" }).first().click();
      await page.getByLabel("Name").fill("first key");
      await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
      const apiKey = await page.locator("section", { hasText: "is ready" }).locator("code").first().innerText();
      const { runStatus } = await server
        .clientOf(apiKey)
        .runs.createAndWait({ promptVersionId, inputs: { textInputs: { word: "hello" } } });
      expect(runStatus).toBe("succeeded");
      await page.getByRole("link", { name: "Runs" }).first().click();
      await page.getByRole("link", { name: "Echo of a word" }).waitFor();
      expect(complaints).toEqual([]);
    });
    expect((await ada.client.send("listRuns")).rows).toHaveLength(1);
  });

  test("a member leaves an account and is back in their own", async () => {
    const [ada, grace] = [await createTestPerson(server), await createTestPerson(server)];
    const join = "insert into account_members (account_id, person_id, role) values ($1, $2, 'member')";
    await server.app.db.query(join, [ada.accountId, grace.personId]);
    await travel(browser, "leaving", async ({ page, complaints }) => {
      await signInAs(page, server.url, grace);
      await page.addInitScript((id) => localStorage.setItem("promptd-account", id), ada.accountId);
      await page.goto(`${server.url}/settings/account`);
      await page.getByRole("button", { name: "Leave account" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Leave account", exact: true }).click();
      await page.getByText(/You have left/).waitFor();
      expect((await ada.client.send("listMembers")).rows).toHaveLength(1);
      expect(complaints).toEqual([]);
    });
  });

  test("a person changes their name and password by keyboard alone", async () => {
    const ada = await createTestPerson(server, { email: "typing@example.org" });
    await travel(browser, "typing", async ({ page, complaints }) => {
      await signInAs(page, server.url, ada);
      await page.goto(`${server.url}/settings`);
      const name = page.getByLabel("Name");
      await name.focus();
      await page.keyboard.press("Control+a");
      await page.keyboard.type("Ada of the keys");
      await page.keyboard.press("Enter");
      await page.getByText("Name saved", { exact: true }).waitFor();
      await page.getByRole("link", { name: "Security" }).focus();
      await page.keyboard.press("Enter");
      await page.getByLabel("Current password").focus();
      await page.keyboard.type(PASSWORD);
      await page.keyboard.press("Tab"); // the button that shows the password
      await page.keyboard.press("Tab");
      await page.keyboard.type("another long password");
      await page.keyboard.press("Enter");
      await page.getByText(/Password changed/).waitFor();
      expect(complaints).toEqual([]);
    });
    const answer = await fetch(`${server.url}/manage/auth/sign-in/email`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: server.url },
      body: JSON.stringify({ email: "typing@example.org", password: "another long password" }),
    });
    expect(await answer.json()).toMatchObject({ user: { name: "Ada of the keys" } });
  });

  test("a person sent by a program signs in, sees which program asks, and authorizes it with a cap, denies it, or copies a code", async () => {
    const agent = await createTestPerson(server, { email: "agent@example.org" });
    const program = createServer((_request, response) => response.end("back"));
    await new Promise<void>((resolve) => program.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void program.close());
    const redirectUri = `http://127.0.0.1:${(program.address() as AddressInfo).port}/callback`;
    const registered = await fetch(`${server.url}/oauth/register`, {
      method: "POST",
      body: JSON.stringify({ client_name: "Agent Desk", redirect_uris: [redirectUri, CARRIED_CODE] }),
    });
    const { client_id: clientId } = (await registered.json()) as { client_id: string };
    const verifier = "a-verifier-of-the-test-that-is-long-enough-for-it";
    const params = new URLSearchParams({
      response_type: "code",
      client_id: clientId,
      redirect_uri: redirectUri,
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
      state: "12345678901234567890",
    });
    await travel(browser, "authorize", async ({ page, complaints }) => {
      await page.goto(`${server.url}/oauth/authorize?${params.toString()}`);
      await page.getByLabel("Email").fill("agent@example.org");
      await page.getByLabel("Password").fill(PASSWORD);
      await page.getByRole("button", { name: "Sign in", exact: true }).click();
      await page.getByRole("heading", { name: "Agent Desk" }).waitFor();
      expect(await page.getByText(`You will be sent back to ${redirectUri}`).count()).toBe(1);
      await page.getByLabel("Monthly cap").fill("40");
      await page.getByRole("button", { name: "Authorize" }).click();
      await page.getByText("back", { exact: true }).waitFor();
      const back = new URL(page.url()).searchParams;
      expect(back.get("state")).toBe("12345678901234567890");
      const form = { client_id: clientId, redirect_uri: redirectUri, code_verifier: verifier };
      const token = await fetch(`${server.url}/oauth/token`, {
        method: "POST",
        body: new URLSearchParams({ grant_type: "authorization_code", code: back.get("code") ?? "", ...form }),
      });
      expect(await token.json()).toMatchObject({ token_type: "Bearer", expires_in: 7_776_000 });
      await page.goto(`${server.url}/keys`);
      await page.getByRole("table", { name: "Keys" }).getByText("Agent Desk").waitFor();
      await page.goto(`${server.url}/oauth/authorize?${params.toString()}`);
      await page.getByRole("button", { name: "Deny" }).click();
      await page.getByText("back", { exact: true }).waitFor();
      expect(Object.fromEntries(new URL(page.url()).searchParams)).toMatchObject({
        error: "access_denied",
        iss: server.url,
      });
      params.set("resource", "https://evil.example/mcp");
      await page.goto(`${server.url}/oauth/authorize?${params.toString()}`);
      await page.getByText("The program wants access for another server.").waitFor();
      expect(await page.getByRole("button", { name: "Authorize" }).count()).toBe(0);
      params.set("resource", `${server.url}/mcp`);
      params.set("redirect_uri", CARRIED_CODE);
      params.set("scope", "prompts:write runs:read operator of-another-server");
      await page.goto(`${server.url}/oauth/authorize?${params.toString()}`);
      await page.getByLabel("save and publish prompts").waitFor();
      expect(await page.getByLabel("everything an operator can do").count()).toBe(0);
      await server.app.db.query("update auth_users set is_operator = true where id = $1", [agent.personId]);
      await page.reload();
      await page.getByLabel("everything an operator can do").waitFor();
      expect(await page.getByLabel("everything an operator can do").isChecked()).toBe(false);
      await page.getByLabel("save and publish prompts").uncheck();
      await page.getByRole("button", { name: "Authorize" }).click();
      await page.getByRole("heading", { name: "Your code" }).waitFor();
      const code = (await page.locator("main code").textContent()) ?? "";
      const carried = { client_id: clientId, code_verifier: verifier, grant_type: "authorization_code", code };
      const taken = await fetch(`${server.url}/oauth/token`, { method: "POST", body: new URLSearchParams(carried) });
      expect(await taken.json()).toMatchObject({ access_token: expect.stringMatching(/^pdm_/), scope: "runs:read" });
      expect(complaints.filter((complaint) => !complaint.includes("401"))).toEqual([]);
    });
  });
});

describe.skipIf(findBrowser() === null)("among the keys", () => {
  test("an owner limits a key to a prompt, and rolls it so that the old key expires at once", async () => {
    const ada = await createTestPerson(server);
    const { promptVersionId, slug } = await server.publish(PROMPT);
    const other = await server.publish(PROMPT.replace("a word", "another word"));
    await travel(browser, "limited-key", async ({ page, complaints }) => {
      await signInAs(page, server.url, ada);
      await page.goto(`${server.url}/keys?new=1`);
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Name").fill("kiosk");
      await dialog.getByLabel("Prompts").fill(`${slug}\nno-such-slug`);
      await dialog.getByRole("button", { name: "Create key" }).click();
      await dialog.getByText("The marketplace has no prompt “no-such-slug”.").waitFor();
      complaints.splice(0); // the browser logs the 404
      await dialog.getByLabel("Prompts").fill(`${slug}\n`);
      await dialog.getByRole("button", { name: "Create key" }).click();
      const shown = page.locator("section", { hasText: "is ready" }).locator("code").first();
      const oldKey = await shown.innerText();
      await page.getByText("1 prompt only").waitFor();
      const runWith = (apiKey: string, version: string) =>
        server
          .clientOf(apiKey)
          .runs.createAndWait({ promptVersionId: version, inputs: { textInputs: { word: "hi" } } })
          .then(
            ({ runStatus }) => runStatus,
            (error: { code?: string }) => error.code,
          );
      expect(await runWith(oldKey, promptVersionId)).toBe("succeeded");
      expect(await runWith(oldKey, other.promptVersionId)).toBe("VALIDATION_ERROR");
      await page.getByRole("button", { name: "Actions for kiosk" }).click();
      await page.getByRole("menuitem", { name: "Roll key" }).click();
      await dialog.getByLabel("Old key expires").selectOption("Now");
      await dialog.getByRole("button", { name: "Roll key" }).click();
      await page.getByText("expired", { exact: true }).waitFor();
      const newKey = await shown.innerText();
      expect([await runWith(newKey, promptVersionId), await runWith(newKey, other.promptVersionId)]).toEqual([
        "succeeded",
        "VALIDATION_ERROR",
      ]);
      expect(await runWith(oldKey, promptVersionId)).toBe("UNAUTHORIZED_ERROR");
      expect(complaints).toEqual([]);
    });
  });
});

describe.skipIf(findBrowser() === null)("in an account's settings", () => {
  test("an owner changes the account's name, and its published prompts show the new name", async () => {
    const ada = await createTestPerson(server);
    const { published } = await ada.client.send("publishPromptFile", { body: { source: PROMPT } });
    await travel(browser, "naming", async ({ page, complaints }) => {
      await signInAs(page, server.url, ada);
      await page.goto(`${server.url}/settings/account`);
      await page.getByLabel("Account name").fill("Studio Ada");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByText("Name saved", { exact: true }).waitFor();
      await page.goto(`${server.url}/p/${published[0]?.slug ?? ""}`);
      await page.getByText("Studio Ada").first().waitFor();
      expect(complaints).toEqual([]);
    });
  });

  test("an owner exports the account, then deletes it, and its key and session stop working", async () => {
    const email = "leaving@example.org";
    const ada = await createTestPerson(server, { email });
    const { apiKey } = await ada.client.send("createKey", { body: { name: "old" } });
    await travel(browser, "deleting", async ({ page }) => {
      await signInAs(page, server.url, ada);
      await page.goto(`${server.url}/settings/account`);
      const saving = page.waitForEvent("download");
      await page.getByRole("button", { name: "Download archive" }).click();
      const saved = await saving;
      expect(saved.suggestedFilename()).toBe(`promptd-${ada.accountId}.tar.gz`);
      expect((await readFile(await saved.path())).subarray(0, 2)).toEqual(Buffer.from([0x1f, 0x8b])); // gzip
      await page.getByRole("button", { name: "Delete account" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText("1,000 credits will be lost.").waitFor();
      await dialog.getByLabel(/Leave them published/).check();
      await dialog.getByLabel(`Type ${email} to confirm`).fill("leave@example.org");
      const submit = dialog.getByRole("button", { name: "Delete permanently" });
      expect(await submit.isDisabled()).toBe(true);
      await dialog.getByText("Enter this address to enable the button.").waitFor();
      await dialog.getByLabel(`Type ${email} to confirm`).fill(email);
      await submit.click();
      await page.waitForURL(/\/sign-in/);
      await page.goto(`${server.url}/runs`);
      await page.waitForURL(/\/sign-in/);
    });
    const answer = await fetch(`${server.url}/v1/me`, { headers: { authorization: `Bearer ${apiKey}` } });
    expect(answer.status).toBe(401);
  });
});

describe.skipIf(findBrowser() === null)("in the webhook settings", () => {
  test("a webhook is created, tested, seen to fail, repeated, rolled, and deleted", async () => {
    const ada = await createTestPerson(server);
    const receiver = await startWebhookReceiver();
    await travel(browser, "webhooks", async ({ page, complaints }) => {
      await signInAs(page, server.url, ada);
      await page.goto(`${server.url}/settings/webhooks`);
      await page.getByText("No webhooks yet").waitFor();
      await page.getByLabel("Threshold").fill("250");
      await page.getByRole("button", { name: "Save threshold" }).click();
      await page.getByText("Threshold set to 250 credits", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Create webhook" }).click();
      await page.getByLabel("Address").fill(receiver.url);
      await page.getByLabel("credits fall below the threshold").check();
      await page.getByRole("dialog").getByRole("button", { name: "Create webhook" }).click();
      const secret = await page.locator("section", { hasText: "is ready" }).locator("code").first().innerText();
      await page.getByRole("link", { name: receiver.url }).click();
      receiver.answer = (response) => void response.writeHead(410).end();
      await page.getByRole("button", { name: "Send test event" }).click();
      const deliveries = page.getByRole("table", { name: "Deliveries" });
      await deliveries.getByText("The receiver responded with status 410.").waitFor();
      await page.getByLabel("State", { exact: true }).selectOption("delivered");
      await page.getByText("No deliveries in this state").waitFor();
      await page.getByRole("button", { name: "Show all deliveries" }).click();
      await deliveries.waitFor();
      const [event] = await receiver.atLeast(1);
      expect(event !== undefined && isVerified(event, secret)).toBe(true);
      await page.reload();
      await page.getByText(/it wants no more events/).waitFor();
      expect(await page.getByText(secret).count()).toBe(0);
      expect(await faultsOfPage(page)).toEqual([]);
      receiver.reset();
      await page.getByRole("button", { name: "Enable" }).click();
      await page.getByText("Webhook enabled", { exact: true }).waitFor();
      await deliveries.getByRole("button", { name: "Send again: webhook.test" }).click();
      await deliveries.getByText(/^204 in/).waitFor();
      const roll = async (name: string) => {
        await page.getByRole("button", { name: "More actions" }).click();
        await page.getByRole("menuitem", { name }).click();
      };
      await roll("Roll secret");
      await page.getByRole("dialog").getByRole("button", { name: "Roll secret" }).click();
      await page.getByText("Your new secret").waitFor();
      await roll("Delete");
      await page.getByRole("dialog").getByRole("button", { name: "Delete webhook" }).click();
      await page.getByText("No webhooks yet").waitFor();
      expect(complaints).toEqual([]);
    });
    await receiver.close();
  });

  test("a person who uses a sign-in service without an invitation reads what is missing", async () => {
    await travel(browser, "not-invited", async ({ page }) => {
      await page.goto(`${server.url}/sign-in?error=SIGN_UP_REFUSED`);
      expect(await page.getByRole("alert").innerText()).toContain("sign-up is by invitation only.");
    });
  });
});
