/** A platform without embedded PostgreSQL gets a message with the alternative. */
import { afterEach, expect, test } from "vitest";
import { prepareBinaries } from "../../src/platform/embedded/binaries.ts";

const { arch } = process;
afterEach(() => {
  Object.defineProperty(process, "arch", { value: arch });
});

test("a platform without PostgreSQL programs is reported, with the setting that helps", async () => {
  Object.defineProperty(process, "arch", { value: "riscv64" });
  await expect(prepareBinaries()).rejects.toThrow(
    /No embedded PostgreSQL is available for \w+-riscv64(-musl)?\. Set DATABASE_URL to a PostgreSQL server of version 15 or newer\./,
  );
});
