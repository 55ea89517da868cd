/**
 * Tests what users get: a release's tarballs, installed into empty folders and used there. `npm run test:packages` builds
 * and packs first. With a folder of tarballs as argument, it uses those. Needs a registry for the dependencies.
 * `PROMPTD_TEST_NODES=20,24` selects Node versions.
 */
import { globSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { packPackages } from "./pack-packages.ts";
import { checkAgent, checkLauncher } from "./test-packages/check-agent.ts";
import { checkClient } from "./test-packages/check-client.ts";
import { checkAuthor, checkCaller } from "./test-packages/check-people.ts";
import { checkServer } from "./test-packages/check-server.ts";
import { check, cleanUp, home, NODES, ROOT, run } from "./test-packages/empty-folders.ts";

async function main(): Promise<void> {
  const [given] = process.argv.slice(2);
  const out = given === undefined ? join(home, "tarballs") : resolve(given);
  if (given === undefined) {
    await check(
      "npm run build",
      () => void run("npm", ["run", "--silent", "build"], { cwd: ROOT, node: dirname(process.execPath) }),
    );
    await check("npm pack of each package", () => void packPackages(out));
  }
  const tarballs = globSync("*.tgz", { cwd: out }).map((name) => join(out, name));
  const clientTarball = tarballs.find((name) => name.includes("promptd-client-")) ?? "";
  const majors = (process.env["PROMPTD_TEST_NODES"] ?? Object.keys(NODES).join(",")).split(",");
  for (const major of majors.filter((one) => one !== "20")) {
    const { serving } = await checkServer(tarballs, major);
    if (serving === null) continue;
    if (major === majors.at(-1)) {
      await checkClient(clientTarball, majors, serving);
      await checkCaller(tarballs, serving);
      await checkAuthor(tarballs, serving);
      await checkAgent(tarballs, serving);
    }
    await check(`it stops on Node ${major}`, () => serving.stop());
  }
  if (majors.includes("20")) await checkLauncher(tarballs);
}

let failures = 0;
try {
  await main();
} finally {
  failures = cleanUp();
}
console.log(failures === 0 ? "All packages install and work." : `${failures} failed.`);
process.exitCode = failures === 0 ? 0 : 1;
