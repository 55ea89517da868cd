import { rm } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { createDirectory, createInstallation, killLeftovers, type OwnDatabase } from "./operator-process.ts";

/** What the tests of one file work on. */
export interface OperatorRig {
  /** For files of the tests, which all of them share. */
  directory: string;
  /** Of each test its own. */
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
