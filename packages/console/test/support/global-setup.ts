/** Vitest's global set-up of the console: a build and a browser, made once before the first test. */
import { buildConsole } from "./build.ts";
import { installBrowser } from "./browser.ts";

export function setup(): void {
  buildConsole();
  installBrowser();
}
