/** Vitest's global setup: builds the console and finds a browser once, before the first test, after the server's setup. */
import type { TestProject } from "vitest/node";
import { setup as setUpServer } from "../../../server/test/support/global-setup.ts";
import { installBrowser } from "./browser.ts";
import { buildConsole } from "./build.ts";

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  installBrowser();
  const [tearDown] = await Promise.all([setUpServer(project), buildConsole()]);
  return tearDown;
}
