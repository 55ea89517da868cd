import { CommandFailure, type Command, type CommandIo } from "../command.ts";
import { formatTable } from "../output.ts";
import { printableLine } from "../printable.ts";
import { suggestName } from "@promptd/contract";
import {
  configPath,
  isSecret,
  readConnection,
  readUserConfig,
  writeUserConfig,
  type UserConfig,
} from "../user-config.ts";

/** Maps names on the command line to members of the file. */
const NAMES = { url: "url", "api-key": "apiKey", token: "token" } as const satisfies Record<string, keyof UserConfig>;
type Name = keyof typeof NAMES;
const VARIABLES = {
  url: "PROMPTD_URL",
  "api-key": "PROMPTD_API_KEY",
  token: "PROMPTD_TOKEN",
} as const satisfies Record<Name, string>;

const ABOUT = `Names: url (the server's address), api-key (for runs), and token (for keys, credits, usage, and your prompts). They are stored in ~/.config/promptd/config.json (or under $XDG_CONFIG_HOME), and only you can read them. The environment variables PROMPTD_URL, PROMPTD_API_KEY, and PROMPTD_TOKEN override them. The stored key and token are sent only to the stored address.`;

export const configSet: Command = {
  summary: "Store the server's address, your API key, or your management token",
  usage: "<name> <value|->",
  details: `${ABOUT}
With "-", the value is typed without being shown, or read from standard input, so that a key stays out of the shell history.`,
  session: `$ promptd config set url https://promptd.example.org
Stored url in ~/.config/promptd/config.json.
$ promptd config set api-key - < key.txt
Stored api-key in ~/.config/promptd/config.json.`,
  options: {},
  async run(args, io) {
    const name = readName(args.positionals[0] ?? "");
    const given = args.positionals[1] ?? "";
    const value = (given === "-" ? await readHidden(name, io) : given).trim();
    checkValue(name, value);
    const config = await readUserConfig(io.env);
    const isFirst = Object.values(config).every((stored) => stored === null);
    const url = isFirst ? (await readConnection(io.env)).url : config.url; // a key belongs to the server in use
    await writeUserConfig(io.env, { ...config, url, [NAMES[name]]: value });
    io.result({ name, path: configPath(io.env) }, `Stored ${name} in ${configPath(io.env)}.`);
    const { unused } = await readConnection(io.env);
    if (name !== "url" && unused[NAMES[name]] !== null) {
      io.note(`It is for ${printableLine(unused.url ?? "")}, not for the address in PROMPTD_URL.`);
    }
    const variable = VARIABLES[name];
    if ((io.env[variable] ?? "") !== "") io.note(`The environment variable ${variable} is set and overrides it.`);
  },
};

export const configGet: Command = {
  summary: "Show the server's address, API key, and token in use",
  usage: "[name]",
  details: `${ABOUT}
With a name, the full value is printed alone, for scripts. The overview shows only the beginning and end of each secret.`,
  session: `$ promptd config get
url      https://promptd.example.org                (config file)
api-key  pd_01…8f                                   (config file)
token    -                                          (not set)
file     ~/.config/promptd/config.json`,
  options: {},
  async run(args, io) {
    const connection = await readConnection(io.env);
    const [given] = args.positionals;
    if (given !== undefined) {
      const name = readName(given);
      const value = connection[NAMES[name]];
      if (value === null) {
        throw new CommandFailure(`${name} is not set.`, { hint: `Set it with "promptd config set ${name} <value>".` });
      }
      io.result({ name, value }, value);
      return;
    }
    const { url, urlOrigin } = connection;
    const [apiKey, token] = [connection.apiKey, connection.token].map((key) => (key === null ? null : maskKey(key)));
    const secretRow = (name: string, shown: string | null | undefined, origin: string) =>
      typeof shown === "string" ? [name, shown, `(${origin})`] : [name, "-", "(not set)"];
    const text = formatTable([
      ["url", url, `(${urlOrigin})`],
      secretRow("api-key", apiKey, connection.apiKeyOrigin),
      secretRow("token", token, connection.tokenOrigin),
      ["file", configPath(io.env), ""],
    ]);
    io.result({ url, apiKey, token, path: configPath(io.env) }, text);
  },
};

export const configUnset: Command = {
  summary: "Remove a stored address, key, or token",
  usage: "<name>",
  details: ABOUT,
  session: `$ promptd config unset api-key
Removed api-key from ~/.config/promptd/config.json.`,
  options: {},
  async run(args, io) {
    const name = readName(args.positionals[0] ?? "");
    const config = await readUserConfig(io.env);
    const wasSet = config[NAMES[name]] !== null;
    if (wasSet) await writeUserConfig(io.env, { ...config, [NAMES[name]]: null });
    const path = configPath(io.env);
    io.result({ name, path, wasSet }, wasSet ? `Removed ${name} from ${path}.` : `${name} was not set in ${path}.`);
  },
};

/** From the terminal without showing it, or from standard input. */
async function readHidden(name: Name, io: CommandIo): Promise<string> {
  return (await io.askSecret(`${name} (not shown): `)) ?? io.readStdin();
}

function readName(text: string): Name {
  if (Object.hasOwn(NAMES, text)) return text as Name;
  const meant = suggestName(text, Object.keys(NAMES));
  throw new CommandFailure(`There is no setting "${text}".${meant === null ? "" : ` Did you mean ${meant}?`}`, {
    hint: `Settings: ${Object.keys(NAMES).join(", ")}`,
  });
}

function checkValue(name: Name, value: string): void {
  if (name === "url" && !/^https?:$/.test(URL.parse(value)?.protocol ?? "")) {
    throw new CommandFailure(`url must begin with http:// or https://, got "${value}".`);
  }
  const kind = value.startsWith("pdm_") ? "token" : "api-key";
  if (name !== "url" && /^pdm?_/.test(value) && name !== kind) {
    const what = kind === "token" ? "a management token" : "an API key";
    throw new CommandFailure(`That is ${what}.`, { hint: `Store it with: promptd config set ${kind} -` });
  }
  if (name !== "url" && !isSecret(value)) {
    throw new CommandFailure(`${name} must be 1 to 256 characters without spaces.`);
  }
}

/** Shows enough to distinguish two keys, but not enough to use one. */
function maskKey(key: string): string {
  return key.length < 12 ? "…" : `${key.slice(0, 5)}…${key.slice(-2)}`;
}
