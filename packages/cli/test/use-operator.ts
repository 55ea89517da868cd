import { rm } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { createDirectory, createInstallation, killLeftovers, type OwnDatabase } from "./operator-process.ts";

/** What the tests in one file work on. */
export interface OperatorRig {
  /** For the tests' files, shared by all tests. */
  directory: string;
  /** Separate for each test. */
  installation: OwnDatabase;
}

export function useOperator(): OperatorRig {
  const rig = {} as OperatorRig;
  beforeAll(async () => {
    rig.directory = await createDirectory();
  });
  afterAll(async () => {
    await killLeftovers();
    await rm(rig.directory, { recursive: true, force: true });
  });
  beforeEach(async () => {
    rig.installation = await createInstallation();
  });
  afterEach(() => rig.installation.remove());
  return rig;
}
