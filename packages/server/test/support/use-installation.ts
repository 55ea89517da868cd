/** An installation for each test of a file, without processes that outlive their test. */
import { afterEach, beforeEach } from "vitest";
import { openInstallationFixture, type InstallationFixture } from "./installation-fixture.ts";
import { killLeftovers } from "./promptd-process.ts";
import { createTestDatabase, type TestDatabase } from "./test-database.ts";

/**
 * @param changes of the settings of its processes.
 * @returns what gives the installation of the test that runs.
 */
export function useInstallation(changes: Readonly<Record<string, string>> = {}): () => InstallationFixture {
  let database: TestDatabase;
  let fixture: InstallationFixture;
  beforeEach(async () => {
    database = await createTestDatabase();
    fixture = await openInstallationFixture(database.url, changes);
  });
  afterEach(async () => {
    await killLeftovers();
    await fixture.close();
    await database.drop();
  });
  return () => fixture;
}
