/** Helpers for tests of the prompt editor. */
import type { Page } from "playwright-core";
import { createTestPerson, type TestPerson } from "../../../server/test/people/people-fixture.ts";
import type { TestServer } from "../../../server/test/support/test-server.ts";

export const SOURCE = `---
promptd: 1
title: Tea poem
description: Two lines for a label.
model: sandbox/text
inputs:
  topic: { label: Topic, maxLength: 200 }
tests:
  - name: names the leaf
    inputs: { topic: oolong }
    expect: { contains: oolong }
  - name: is very short
    inputs: { topic: oolong }
    expect: { shorterThan: 3 }
---
Write about {{ topic }}.
`;

export const editor = (page: Page) => page.getByRole("textbox", { name: /Prompt file/ });
export const saved = (page: Page) => page.getByText(/^saved/).waitFor();

/** Globals of the page, which this process does not have. */
interface ClipboardOfPage {
  readonly DataTransfer: new () => { setData(type: string, text: string): void };
  readonly ClipboardEvent: new (type: string, init: object) => never;
}

/** Replaces the whole file, as pasting over it would. */
export async function write(page: Page, source: string): Promise<void> {
  await editor(page).click();
  await page.keyboard.press("Control+a");
  await editor(page).evaluate((node, text) => {
    const scope = globalThis as unknown as ClipboardOfPage;
    const clipboardData = new scope.DataTransfer();
    clipboardData.setData("text/plain", text);
    node.dispatchEvent(new scope.ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  }, source);
}

export async function publish(page: Page, note: string): Promise<void> {
  await page.getByRole("button", { name: /^Publish/ }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Note").fill(note);
  await dialog.getByRole("button", { name: "Publish" }).click();
  await dialog.waitFor({ state: "detached" });
}

/** A person with credits. */
export async function newAuthor(server: TestServer): Promise<TestPerson> {
  const person = await createTestPerson(server);
  await server.grant(person.accountId, { amount: 1_000 });
  return person;
}
