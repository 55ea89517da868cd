/** Starts a server with the console and a browser for all tests of a file. Starts nothing if there is no browser. */
import { afterAll, beforeAll } from "vitest";
import { startTestServer, type TestServer } from "../../../server/test/support/test-server.ts";
import { findBrowser, openBrowser, type TestBrowser } from "./browser.ts";
import { DIST } from "./build.ts";

interface OpenConsole {
  readonly server: TestServer;
  readonly browser: TestBrowser;
}

/** @param fill receives both and creates the data that the file's tests start with. */
export function useConsole(
  environment: Readonly<Record<string, string>>,
  fill: (opened: OpenConsole) => void | Promise<void>,
): void {
  let opened: OpenConsole | null = null;
  beforeAll(async () => {
    if (findBrowser() === null) return;
    const starting = startTestServer({ consoleDirectory: DIST, environment });
    const [server, browser] = await Promise.all([starting, openBrowser()]);
    opened = { server, browser };
    await fill(opened);
  });
  afterAll(async () => {
    await opened?.browser.close();
    await opened?.server.close();
  });
}
