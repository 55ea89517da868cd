/**
 * Runs as root of its own network namespace: maps every provider's name to an address of this machine, stands in for all
 * of them, starts promptd as its users do, and runs each example. Prints the responses and what was sent.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@promptd/client";
import { createTestCertificate } from "../../support/test-certificate.ts";
import { startPromptd } from "../../support/promptd-process.ts";
import { startNameServer } from "./name-server.ts";
import { FILE_HOSTS, startStandIns } from "./stand-ins.ts";

export interface Walk {
  readonly directory: string;
  readonly hosts: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly apiKey: string;
  /** Versions by example, in two rounds: the second has OPENAI_BASE_URL set. */
  readonly rounds: readonly {
    readonly environment: Readonly<Record<string, string>>;
    readonly examples: Readonly<Record<string, string>>;
  }[];
}

/** Neither private nor reserved, so that files may be fetched from it. It exists only in this namespace. */
const ADDRESS = "11.11.11.11";

const walk = JSON.parse(process.argv[2] ?? "") as Walk;
const run = (command: string, ...words: string[]) => void execFileSync(command, words);
run("ip", "link", "set", "lo", "up");
run("ip", "address", "add", `${ADDRESS}/32`, "dev", "lo");
const names = [...walk.hosts, ...FILE_HOSTS];
const hostsFile = join(walk.directory, "hosts");
writeFileSync(hostsFile, [`127.0.0.1 localhost`, ...names.map((name) => `${ADDRESS} ${name}`), ""].join("\n"));
run("mount", "--bind", hostsFile, "/etc/hosts");
const resolverFile = join(walk.directory, "resolv.conf");
writeFileSync(resolverFile, "nameserver 127.0.0.1\n");
run("mount", "--bind", resolverFile, "/etc/resolv.conf");
await startNameServer(ADDRESS);
const certificate = createTestCertificate(names);
const authority = join(walk.directory, "authority.pem");
writeFileSync(authority, certificate.cert);
const sent = await startStandIns(ADDRESS, certificate);

const results: Record<string, unknown> = {};
for (const { environment, examples } of walk.rounds) {
  const serving = await startPromptd({
    environment: { ...walk.environment, NODE_EXTRA_CA_CERTS: authority, ...environment },
  });
  const client = createClient({ baseUrl: serving.url, apiKey: walk.apiKey, timeoutMs: 120_000 });
  for (const [example, promptVersionId] of Object.entries(examples)) {
    const before = sent.length;
    const { outputs, runStatus } = await client.runs.create({ promptVersionId, inputs: {} });
    results[example] = {
      runStatus,
      outputs: outputs.map(({ type, data }) => (type === "text" || type === "error" ? data : type)),
      sent: sent.slice(before),
    };
  }
  await serving.stop();
}
process.stdout.write(JSON.stringify(results));
process.exit(0);
