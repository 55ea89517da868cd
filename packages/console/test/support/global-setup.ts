/** Vitest's global set-up: a build of the console and a browser, made once before the first test, beside that of the server. */
import type { TestProject } from "vitest/node";
import { setup as setUpServer } from "../../../server/test/support/global-setup.ts";
import { installBrowser } from "./browser.ts";
import { buildConsole } from "./build.ts";

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  installBrowser();
  const [tearDown] = await Promise.all([setUpServer(project), buildConsole()]);
  return tearDown;
}
