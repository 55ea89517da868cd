import type { Serving } from "@promptd/server/operator";
import { CommandFailure, type Command } from "../../command.ts";
import { runOnServer } from "./run-operator.ts";

const ROLES = ["all", "api", "worker"] as const;

export const serve: Command = {
  summary: "Start the service: API and worker, with an embedded database unless DATABASE_URL is set",
  usage: "",
  details: "Settings come from the environment; see docs/settings.md. Ctrl-C stops everything this command started.",
  session: `$ promptd serve --port 9000

Open http://127.0.0.1:9000/welcome#wbYILAngFS9RIaDcw8GzHg
promptd listens on http://127.0.0.1:9000`,
  options: {
    role: { type: "string", value: "all|api|worker", summary: "what this process does (default: all)" },
    port: { type: "string", value: "N", summary: "port of the API, 0 for any free port (default: PORT or 8787)" },
    host: { type: "string", value: "H", summary: "address to listen on (default: HOST or 127.0.0.1)" },
  },
  handlesSignals: true,
  run: async (args, io) => {
    const given = args.text("role") ?? "all";
    const role = ROLES.find((one) => one === given);
    if (role === undefined) throw new CommandFailure(`--role must be one of ${ROLES.join(", ")}, got "${given}".`);
    const environment = {
      ...io.env,
      PORT: readPort(args.text("port")) ?? io.env["PORT"],
      HOST: args.text("host") ?? io.env["HOST"],
    };
    const serving = await runOnServer((server) => server.serve({ environment, role, json: io.json }));
    io.result(serving, describe(serving, ALL_ADDRESSES.has(environment.HOST ?? "")));
    await new Promise(() => {}); // the server ends the process when it stops
  },
};

/** Same rule as the setting PORT. Checked here because the setting's own message would name PORT, not --port. */
function readPort(given: string | undefined): string | undefined {
  if (given === undefined || (/^\d{1,5}$/.test(given) && Number(given) <= 65_535)) return given;
  throw new CommandFailure(`--port must be a port from 0 to 65535 (0 for any free port), got "${given}".`);
}

const ALL_ADDRESSES: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

const NEXT_STEPS = `To give somebody access:

npx promptd admin user create --email ada@example.org --credits 100
npx promptd admin key create --user ada@example.org
`;

/** The suggested command calls the address the server listens on. The public URL may not work yet, or be another machine. */
function describe({ url, publicUrl, demo, welcome }: Serving, isOnAllAddresses: boolean): string {
  if (url === null) return "The worker is ready for runs. Press Ctrl-C to stop it.\n";
  const lines = [`promptd listens on ${url}`];
  if (welcome !== null) lines.unshift(`Open ${welcome}`);
  if (publicUrl !== null) lines.push(`Clients reach it at ${publicUrl} (PROMPTD_PUBLIC_URL)`);
  else if (isOnAllAddresses) {
    lines.push(
      "Other machines can reach it too, but links begin with this address until you set PROMPTD_PUBLIC_URL to the address they use",
    );
  }
  lines.push("");
  if (demo === null) return [...lines, NEXT_STEPS].join("\n");
  const body = JSON.stringify({ promptVersionId: demo.promptVersionId, inputs: { textInputs: demo.textInputs } });
  return [
    ...lines,
    `Demo account:  ${demo.email}`,
    `Demo key:      ${demo.apiKey}`,
    "",
    "Try it:",
    "",
    `curl -s ${url}/v1/runs \\`,
    `  -H 'Authorization: Bearer ${demo.apiKey}' -H 'Content-Type: application/json' \\`,
    `  -d '${body}'`,
    "",
  ].join("\n");
}
