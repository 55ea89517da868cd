/**
 * What is published, as far as it can be checked without a registry; `npm run test:packages` installs and uses all of
 * it.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CLIENT_BYTES_MAX, measureClient } from "../../../../scripts/build-client.ts";
import { PACKAGES } from "../../../../scripts/pack-packages.ts";
import { checkVersion, closeChangelog, setVersion } from "../../../../scripts/release.ts";
import { VERSION } from "../../src/platform/version.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const read = (file: string): string => readFileSync(join(ROOT, file), "utf8");
interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly engines?: { readonly node: string };
  readonly dependencies?: Readonly<Record<string, string>>;
}
const manifests = PACKAGES.map((name) => JSON.parse(read(`packages/${name}/package.json`)) as Manifest);

describe("the packages", () => {
  test("all have the version that the server reports", () => {
    expect(manifests.map(({ version }) => version)).toEqual(PACKAGES.map(() => VERSION));
  });

  test("say which Node they need: the client an older one than the server, and the console's pages none", () => {
    expect(manifests.map(({ name, engines }) => `${name} ${engines?.node}`)).toEqual([
      "@promptd/contract >=20.3",
      "@promptd/client >=20.16",
      "@promptd/mcp >=20.16",
      "@promptd/console undefined",
      "@promptd/server >=22.19",
      "promptd >=22.19",
    ]);
    expect(read("packages/cli/bin/promptd.js")).toContain("const VERSION_MIN = [22, 19];");
  });

  test("of the client have no dependencies", () => {
    expect(manifests[PACKAGES.indexOf("client")]?.dependencies).toBeUndefined();
  });

  test("of the client load at most 12.3 kB before a page runs a prompt, and the rest on demand", async () => {
    const { first, later } = await measureClient(join(ROOT, "packages/client/src/index.ts"));
    expect(first).toBeLessThanOrEqual(CLIENT_BYTES_MAX);
    expect(later).toBeGreaterThan(0);
  });

  test("are installed and used whenever one of them changes", () => {
    const workflow = read(".github/workflows/packages.yml");
    for (const path of ["packages/**", "scripts/**", "package-lock.json"]) expect(workflow).toContain(`- "${path}"`);
    expect(workflow).toContain("- run: npm run test:packages");
  });

  test("are published by a workflow that signs their origin", () => {
    const workflow = read(".github/workflows/publish.yml");
    expect(workflow).toContain("id-token: write");
    expect(workflow).toContain("--provenance");
    const published = PACKAGES.map((name) => (name === "cli" ? "promptd" : `promptd-${name}`)).join(" ");
    expect(workflow).toContain(`for name in ${published}; do`);
    expect(workflow.match(/npm publish \S+/g)).toEqual(['npm publish "./tarballs/$name-$version.tgz"']); // a bare path would name a repository
  });
});

describe("a release", () => {
  test("closes the open section of the changelog and opens the next", () => {
    const text = "# Changelog\n\n## 0.2.0, not yet released\n\n- One.\n";
    expect(closeChangelog(text, { version: "0.3.0", day: "2026-12-01" })).toBe(
      "# Changelog\n\n## Next, not yet released\n\n## 0.3.0, 2026-12-01\n\n- One.\n",
    );
    expect(() => closeChangelog("# Changelog\n", { version: "0.3.0", day: "2026-12-01" })).toThrow("no section");
  });

  test("sets only the version of our packages in manifests and the lock file", () => {
    const lock = {
      version: "0.1.0",
      packages: {
        "": { version: "0.1.0" },
        "packages/cli": { version: "0.1.0" },
        "node_modules/x": { version: "0.1.0" },
      },
    };
    expect(JSON.parse(setVersion(JSON.stringify(lock), "0.1.0", "0.2.0"))).toEqual({
      version: "0.2.0",
      packages: {
        "": { version: "0.2.0" },
        "packages/cli": { version: "0.2.0" },
        "node_modules/x": { version: "0.1.0" },
      },
    });
  });

  test.each(["1.2", "v1.2.3", "0.0.9", ""])("refuses the version %j", (version) => {
    expect(() => checkVersion(version, "0.1.0")).toThrow(/must have the form|is older/);
  });
});
