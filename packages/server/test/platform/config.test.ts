/** Settings: defaults, accepted values, and that all errors are reported at once. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { ConfigError, isLoopback, readConfig } from "../../src/platform/config/config.ts";
import { SERVICE_KEYS } from "../../src/platform/config/service-keys.ts";
import { SETTINGS } from "../../src/platform/config/settings.ts";

function faultsOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
}

const DEFAULTS = {
  PORT: 8_787,
  HOST: "127.0.0.1",
  DATABASE_URL: null,
  DATABASE_DIRECT_URL: null,
  PROMPTD_DATA_DIR: "./.promptd",
  PROMPTD_PUBLIC_URL: null,
  PROMPTD_PROXIES: 0,
  PROMPTD_SYNC_WAIT_MS: 120_000,
  PROMPTD_RATE_LIMIT_PER_SECOND: 5,
  PROMPTD_RATE_LIMIT_SCOPE: "account",
  PROMPTD_MANAGE_RATE_LIMIT_PER_SECOND: 50,
  PROMPTD_SIGN_UP: "invite",
  PROMPTD_SIGN_UP_CREDITS: 0,
  PROMPTD_SIGN_UP_PLAN: "none",
  PROMPTD_AUDIT_DAYS: 365,
  PROMPTD_PLANS: true,
  PROMPTD_ACTIVE_RUNS_MAX: 1_000,
  PROMPTD_OPEN_REQUESTS_MAX: 20_000,
  PROMPTD_REQUEST_SECONDS: 30,
  PROMPTD_COMPATIBLE_CONCURRENCY: null,
  PROMPTD_CORS_ORIGINS: ["*"],
  PROMPTD_WORKER_CONCURRENCY: 200,
  PROMPTD_LEASE_MS: 6_000,
  PROMPTD_STOP_NOTICE_SECONDS: 1,
  PROMPTD_DRAIN_SECONDS: 30,
  PROMPTD_FILE_TTL_SECONDS: 86_400,
  PROMPTD_HOLD_MAX_CREDITS: 10_000,
  PROMPTD_AUTHOR_SHARE: 0,
  PROMPTD_AUTHOR_RUNS: null,
  PROMPTD_USAGE_DAYS: 730,
  PROMPTD_SECRET: null,
  PROMPTD_SECRET_PREVIOUS: null,
  PROMPTD_SMTP_URL: null,
  PROMPTD_METRICS_TOKEN: null,
  PROMPTD_WORKER_METRICS_PORT: null,
  PROMPTD_MAIL_FROM: null,
  OIDC_ISSUER: null,
  OIDC_CLIENT_ID: null,
  OIDC_NAME: "Single sign-on",
  OIDC_TRUST_EMAIL: false,
  PROMPTD_S3_BUCKET: null,
  PROMPTD_S3_ENDPOINT: null,
  PROMPTD_S3_REGION: "us-east-1",
  PROMPTD_S3_PREFIX: "promptd/",
  PROMPTD_DATABASE_POOL: 8,
  PROMPTD_DB_UID: 65_534,
  PROMPTD_SEED: true,
  PROMPTD_SANDBOX: true,
  PROMPTD_SANDBOX_DIRECTIVES: "authors",
  PROMPTD_MODELS_FILE: null,
  PROMPTD_LOCAL_MODELS: true,
  PROMPTD_CHECK_MODELS: false,
  PROMPTD_INFLIGHT_BYTES: 536_870_912,
  PROMPTD_EMBEDDING_DOCUMENT_PREFIX: null,
  PROMPTD_EMBEDDING_MODEL: null,
  PROMPTD_EMBEDDING_QUERY_PREFIX: null,
  PROMPTD_LOG_LEVEL: "info",
  NODE_ENV: null,
  PROMPTD_WEBHOOK_PRIVATE_ADDRESSES: false,
  PROMPTD_FAULT: null,
  OPENAI_BASE_URL: null,
  ANTHROPIC_BASE_URL: null,
  GOOGLE_GENERATIVE_AI_BASE_URL: null,
  FAL_BASE_URL: null,
  REPLICATE_BASE_URL: null,
  GITHUB_CLIENT_ID: null,
  GOOGLE_CLIENT_ID: null,
  OLLAMA_HOST: null,
};

describe("without any environment", () => {
  test("every setting has its documented default", () => {
    const { secret, keyFaults: _, dataDir, isProduction, chargesAuthors, ...values } = readConfig({});
    expect(values).toEqual(DEFAULTS);
    expect(dataDir).toBe(resolve(".promptd"));
    expect(isProduction).toBe(false);
    expect(chargesAuthors).toBe(false);
    for (const name of Object.keys(SERVICE_KEYS)) expect(secret(name)).toBeNull();
  });

  test("an empty value counts as unset, and the configuration cannot be changed afterwards", () => {
    const empty = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, ""]));
    const { secret: _one, keyFaults: _three, ...values } = readConfig(empty);
    const { secret: _two, keyFaults: _four, ...defaults } = readConfig({});
    expect(values).toEqual(defaults);
    expect(Object.isFrozen(readConfig({}))).toBe(true);
  });
});

describe("a provider key", () => {
  test.each(["sk-a\nb", "sk-a\u0000", "sk-\u2026", "sk-\u007f", "sk-\ud83d\ude00"])(
    "that no header can carry (%j) is a fault beside the others, and is not repeated",
    (key) => {
      const faults = faultsOf({ PORT: "x", ANTHROPIC_API_KEY: key });
      expect(faults).toHaveLength(2);
      expect(faults[1]).toBe(
        "ANTHROPIC_API_KEY contains a character that is not allowed in an HTTP header. Copy the key again.",
      );
    },
  );

  test("in a file must meet the same rule, and Latin-1 is allowed", async () => {
    const directory = await mkdtemp(join(tmpdir(), "promptd-keys-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    await writeFile(join(directory, "key"), "sk-\u2026\n");
    expect(faultsOf({ FAL_API_KEY_FILE: join(directory, "key") })).toEqual([
      "FAL_API_KEY contains a character that is not allowed in an HTTP header. Copy the key again.",
    ]);
    expect(readConfig({ HOME_KEY_FILE: join(directory, "key") }).keyFaults("HOME_KEY")).toEqual([
      "HOME_KEY contains a character that is not allowed in an HTTP header. Copy the key again.",
    ]);
    expect(readConfig({ HOME_KEY_FILE: join(directory, "none") }).keyFaults("HOME_KEY")).toEqual([
      expect.stringContaining("cannot be read"),
    ]);
    expect(readConfig({ HOME_KEY: "sk-\u00fc" }).keyFaults("HOME_KEY")).toEqual([]);
    expect(readConfig({ FAL_API_KEY: "sk-\u00fc" }).secret("FAL_API_KEY")).toBe("sk-\u00fc");
  });
});

const SECRET = "0123456789abcdef0123456789abcdef";

describe("a value", () => {
  test.each([
    ["PORT", "0", 0],
    ["PORT", "65535", 65_535],
    ["HOST", "::", "::"],
    ["DATABASE_URL", "postgres://u:p@db.example.org:5432/x", "postgres://u:p@db.example.org:5432/x"],
    ["DATABASE_URL", "postgresql://promptd@/promptd?host=%2Frun", "postgresql://promptd@/promptd?host=%2Frun"],
    ["DATABASE_URL", "postgresql:///promptd?host=/run", "postgresql:///promptd?host=/run"],
    ["PROMPTD_PUBLIC_URL", "https://prompts.example.org/base//", "https://prompts.example.org/base"],
    ["PROMPTD_SYNC_WAIT_MS", "0", 0],
    ["PROMPTD_RATE_LIMIT_SCOPE", "key", "key"],
    ["PROMPTD_PLANS", "off", false],
    [
      "PROMPTD_CORS_ORIGINS",
      " https://a.example.org , http://localhost:3000,",
      ["https://a.example.org", "http://localhost:3000"],
    ],
    ["PROMPTD_LEASE_MS", "300", 300],
    ["PROMPTD_SECRET", SECRET, SECRET],
    ["PROMPTD_SEED", "off", false],
    ["PROMPTD_LOG_LEVEL", "silent", "silent"],
    ["OPENAI_BASE_URL", "http://127.0.0.1:11434/v1/", "http://127.0.0.1:11434/v1"],
  ] as const)("of %s=%s is %j", (name, text, value) => {
    expect(readConfig({ [name]: text })[name]).toEqual(value);
  });

  test("for the data directory may be relative to the working directory", () => {
    expect(readConfig({ PROMPTD_DATA_DIR: "data/here" }).dataDir).toBe(resolve("data/here"));
  });

  test.each([
    ["PORT", "65536"],
    ["PORT", "-1"],
    ["PORT", "80.5"],
    ["PORT", "http"],
    ["PORT", " 80"],
    ["PROMPTD_PUBLIC_URL", "prompts.example.org"],
    ["OPENAI_BASE_URL", "https://example.org/v1?key=1"],
    ["FAL_BASE_URL", "https://example.org/#x"],
    ["REPLICATE_BASE_URL", "https://example.org/?"],
    ["PROMPTD_PUBLIC_URL", "ftp://prompts.example.org"],
    ["PROMPTD_SYNC_WAIT_MS", "600001"],
    ["PROMPTD_SYNC_WAIT_MS", "2m"],
    ["PROMPTD_RATE_LIMIT_PER_SECOND", "0"],
    ["PROMPTD_RATE_LIMIT_PER_SECOND", "1e3"],
    ["PROMPTD_RATE_LIMIT_SCOPE", "user"],
    ["PROMPTD_PLANS", "true"],
    ["PROMPTD_ACTIVE_RUNS_MAX", "0"],
    ["PROMPTD_OPEN_REQUESTS_MAX", "9"],
    ["PROMPTD_REQUEST_SECONDS", "0"],
    ["PROMPTD_CORS_ORIGINS", "example.org"],
    ["PROMPTD_CORS_ORIGINS", "https://example.org/app"],
    ["PROMPTD_WORKER_CONCURRENCY", "0"],
    ["PROMPTD_LEASE_MS", "299"],
    ["PROMPTD_DRAIN_SECONDS", "3601"],
    ["PROMPTD_FILE_TTL_SECONDS", "0"],
    ["PROMPTD_HOLD_MAX_CREDITS", "0"],
    ["PROMPTD_DATABASE_POOL", "1"],
    ["PROMPTD_DB_UID", "0"],
    ["PROMPTD_SEED", "no"],
    ["PROMPTD_SANDBOX", "1"],
    ["PROMPTD_LOCAL_MODELS", "OFF"],
    ["PROMPTD_INFLIGHT_BYTES", "1024"],
    ["PROMPTD_LOG_LEVEL", "trace"],
    ["NODE_ENV", "productoin"],
    ["NODE_ENV", "Production"],
    ["PROMPTD_PUBLIC_URL", "https://promptd.example.org/?from=mail"],
    ["PROMPTD_S3_ENDPOINT", "s3.example.org"],
    ["PROMPTD_S3_PREFIX", "a b/"],
    ["PROMPTD_S3_PREFIX", "x?y/"],
    ["OPENAI_BASE_URL", "localhost:11434"],
    ["ANTHROPIC_BASE_URL", "x"],
    ["GOOGLE_GENERATIVE_AI_BASE_URL", "x"],
    ["FAL_BASE_URL", "x"],
    ["REPLICATE_BASE_URL", "x"],
  ] as const)("of %s=%s is a fault that says what was expected and what was given", (name, text) => {
    expect(faultsOf({ [name]: text })).toEqual([`${name} must be ${SETTINGS[name].expected}, got "${text}".`]);
  });

  test.each(["My_Files", "../x"])("for PROMPTD_S3_BUCKET=%s is an error before any bucket is contacted", (bucket) => {
    const others = {
      PROMPTD_S3_ENDPOINT: "https://s3.example.org",
      AWS_ACCESS_KEY_ID: "k",
      AWS_SECRET_ACCESS_KEY: "s",
    };
    const { expected } = SETTINGS.PROMPTD_S3_BUCKET;
    expect(faultsOf({ ...others, PROMPTD_S3_BUCKET: bucket })).toEqual([
      `PROMPTD_S3_BUCKET must be ${expected}, got "${bucket}".`,
    ]);
  });

  test.each([
    ["DATABASE_URL", "mysql://root:hunter2@db/x"],
    ["DATABASE_URL", "postgresql://root:hunter2@[/x"],
    ["PROMPTD_SECRET", "hunter2"],
  ] as const)("of %s is never repeated, since it holds a secret", (name, text) => {
    expect(faultsOf({ [name]: text })).toEqual([`${name} must be ${SETTINGS[name].expected}.`]);
  });
});

describe("a name", () => {
  test.each([
    ["PROMPTD_SEDE", "PROMPTD_SEDE is not a setting; did you mean PROMPTD_SEED?"],
    ["PROMPTD_LOG_LEVL", "PROMPTD_LOG_LEVL is not a setting; did you mean PROMPTD_LOG_LEVEL?"],
    ["PROMPTD_FOO", "PROMPTD_FOO is not a setting; docs/settings.md lists all of them."],
    ["PROMPTD_PORT_OF_THE_API", "PROMPTD_PORT_OF_THE_API is not a setting; docs/settings.md lists all of them."],
  ])("%s that begins with PROMPTD_ and is none of ours is a fault", (name, fault) => {
    expect(faultsOf({ [name]: "x" })).toEqual([fault]);
  });

  test("that belongs to the command line, tests, or other programs is ignored", () => {
    const others = { PROMPTD_URL: "x", PROMPTD_API_KEY: "x", PROMPTD_TEST_DATABASE_URL: "x", PATH: "x", POORT: "1" };
    expect(faultsOf(others)).toEqual([]);
  });
});

describe("a combination", () => {
  test("is an error when part of it is missing", () => {
    expect(faultsOf({ DATABASE_DIRECT_URL: "postgres://db/x" })).toEqual([
      "DATABASE_DIRECT_URL also requires DATABASE_URL.",
    ]);
    expect(faultsOf({ PROMPTD_SECRET_PREVIOUS: SECRET })).toEqual([
      "PROMPTD_SECRET_PREVIOUS also requires PROMPTD_SECRET.",
    ]);
    expect(faultsOf({ PROMPTD_S3_BUCKET: "files", AWS_ACCESS_KEY_ID: "k" })).toEqual([
      "PROMPTD_S3_BUCKET also requires PROMPTD_S3_ENDPOINT, AWS_SECRET_ACCESS_KEY.",
    ]);
    expect(faultsOf({ OIDC_CLIENT_ID: "promptd" })).toEqual(["OIDC_CLIENT_ID also requires OIDC_ISSUER."]);
  });

  test("of production and DATABASE_URL switches the sandbox off, unless it is switched on", () => {
    const DATABASE_URL = "postgresql://localhost/x";
    expect(readConfig({ NODE_ENV: "production", DATABASE_URL }).PROMPTD_SANDBOX).toBe(false);
    expect(readConfig({ NODE_ENV: "production", DATABASE_URL, PROMPTD_SANDBOX: "on" }).PROMPTD_SANDBOX).toBe(true);
    expect(readConfig({ NODE_ENV: "production" }).PROMPTD_SANDBOX).toBe(true);
    expect(readConfig({ DATABASE_URL }).PROMPTD_SANDBOX).toBe(true);
  });

  test("of fault points and production is an error; production alone is noted", () => {
    expect(faultsOf({ PROMPTD_FAULT: "notify.send:skip", NODE_ENV: "production" })).toEqual([
      "PROMPTD_FAULT is not allowed when NODE_ENV is production.",
    ]);
    expect(readConfig({ NODE_ENV: "production" }).isProduction).toBe(true);
    expect(readConfig({ PROMPTD_FAULT: "notify.send:skip" }).PROMPTD_FAULT).toBe("notify.send:skip");
  });
});

test("an unknown fault point is a configuration error, and so is each part that cannot be parsed", () => {
  expect(faultsOf({ PORT: "x", PROMPTD_FAULT: "foo:kill, heartbeat.before:skip,x" })).toEqual([
    'PORT must be a port from 0 to 65535 (0 for any free port), got "x".',
    'PROMPTD_FAULT: "foo" is not a fault point.',
    'PROMPTD_FAULT: "heartbeat.before" is not a notification and cannot be skipped.',
    'PROMPTD_FAULT: "x" does not have the form name:action[@n].',
  ]);
});

test("all errors are reported at once, each on its own line", () => {
  const environment = { PORT: "x", PROMPTD_SEDE: "off", PROMPTD_SEED: "no", OPENAI_API_KEY_FILE: "/nonexistent/key" };
  expect(() => readConfig(environment)).toThrow(
    new ConfigError([
      "PROMPTD_SEDE is not a setting; did you mean PROMPTD_SEED?",
      'PORT must be a port from 0 to 65535 (0 for any free port), got "x".',
      'PROMPTD_SEED must be on or off, got "no".',
      "OPENAI_API_KEY_FILE: the file /nonexistent/key cannot be read (ENOENT). Check that it exists and that this user can read it.",
    ]),
  );
  expect(new ConfigError(["one.", "two."]).message).toBe("The configuration has 2 errors:\n  - one.\n  - two.");
  expect(new ConfigError(["one."]).message).toBe("The configuration has an error:\n  - one.");
});

describe("a secret", () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "promptd-config-"));
  });
  afterAll(() => rm(directory, { recursive: true }));

  async function keyFile(text: string): Promise<string> {
    const path = join(directory, "key");
    await writeFile(path, text);
    return path;
  }

  test.each(Object.keys(SERVICE_KEYS))(
    "%s is read from the environment, or from the file that %s_FILE names",
    async (name) => {
      expect(readConfig({ [name]: "sk-1" }).secret(name)).toBe("sk-1");
      expect(readConfig({ [`${name}_FILE`]: await keyFile("sk-2\n") }).secret(name)).toBe("sk-2");
      expect(readConfig({ [name]: "" }).secret(name)).toBeNull();
    },
  );

  test.each([
    ["DATABASE_URL", {}, "postgresql://promptd:pw@db/x"],
    ["DATABASE_DIRECT_URL", { DATABASE_URL: "postgresql://pooler/x" }, "postgresql://promptd:pw@db/x"],
    ["PROMPTD_SECRET", {}, SECRET],
    ["PROMPTD_SECRET_PREVIOUS", { PROMPTD_SECRET: SECRET }, "before-0123456789abcdef0123456789"],
    ["PROMPTD_SMTP_URL", { PROMPTD_MAIL_FROM: "promptd@example.org" }, "smtp://user:pw@mail:587"],
  ] as const)(
    "%s is read from the file that %s_FILE names, without the end of its line",
    async (name, others, value) => {
      expect(readConfig({ ...others, [`${name}_FILE`]: await keyFile(`${value}\n`) })[name]).toBe(value);
    },
  );

  test("in a file counts when another setting requires it", async () => {
    const path = await keyFile("postgresql://db/x\n");
    const production = readConfig({ NODE_ENV: "production", DATABASE_URL_FILE: path, DATABASE_DIRECT_URL_FILE: path });
    expect(production.PROMPTD_SANDBOX).toBe(false);
    expect(faultsOf({ GITHUB_CLIENT_ID: "x", GITHUB_CLIENT_SECRET_FILE: path })).toEqual([]);
    expect(faultsOf({ PROMPTD_SMTP_URL_FILE: path })).toEqual([
      `PROMPTD_SMTP_URL must be ${SETTINGS.PROMPTD_SMTP_URL.expected}.`,
      "PROMPTD_SMTP_URL and PROMPTD_MAIL_FROM require each other. Set both or neither.",
    ]);
  });

  test.each(["PROMPTD_SECRET", "FAL_API_KEY"])(
    "%s that is set twice is an error, whatever the file contains",
    (name) => {
      expect(faultsOf({ [name]: SECRET, [`${name}_FILE`]: "/nonexistent/secret" })).toEqual([
        `${name} and ${name}_FILE are both set. Set one of them.`,
      ]);
      expect(faultsOf({ [name]: SECRET, [`${name}_FILE`]: "" })).toEqual([]);
    },
  );

  test("in an unreadable file is one error, reported with all others", () => {
    const cannotBeRead = (name: string, path: string, code: string) =>
      `${name}_FILE: the file ${path} cannot be read (${code}). Check that it exists and that this user can read it.`;
    const environment = {
      PORT: "x",
      DATABASE_URL_FILE: directory,
      DATABASE_DIRECT_URL: "postgresql://db/x",
      PROMPTD_SMTP_URL_FILE: "/nonexistent/smtp",
      PROMPTD_MAIL_FROM: "promptd@example.org",
      PROMPTD_S3_BUCKET: "files",
      PROMPTD_S3_ENDPOINT: "https://s3.example.org",
      AWS_ACCESS_KEY_ID: "k",
      AWS_SECRET_ACCESS_KEY_FILE: "/nonexistent/aws",
    };
    expect(faultsOf(environment)).toEqual([
      'PORT must be a port from 0 to 65535 (0 for any free port), got "x".',
      cannotBeRead("DATABASE_URL", directory, "EISDIR"),
      cannotBeRead("PROMPTD_SMTP_URL", "/nonexistent/smtp", "ENOENT"),
      cannotBeRead("AWS_SECRET_ACCESS_KEY", "/nonexistent/aws", "ENOENT"),
    ]);
  });

  test("is the only kind of setting that a file may contain", () => {
    expect(faultsOf({ PROMPTD_SEED_FILE: "/run/seed" })).toEqual([
      "PROMPTD_SEED_FILE is not a setting; docs/settings.md lists all of them.",
    ]);
  });

  test("in an empty file is an error", async () => {
    const path = await keyFile("\n");
    expect(faultsOf({ FAL_API_KEY_FILE: path })).toEqual([
      `FAL_API_KEY_FILE: the file ${path} is empty. Put the value in it.`,
    ]);
  });

  test("under a name of the operator's own is read only on request, so that other programs' files cause no errors", async () => {
    const environment = {
      MY_MODELS_KEY_FILE: await keyFile("sk-3"),
      AWS_WEB_IDENTITY_TOKEN_FILE: "/nonexistent/token",
    };
    const { secret } = readConfig(environment);
    expect(secret("MY_MODELS_KEY")).toBe("sk-3");
    expect(secret("OTHER_KEY")).toBeNull();
    expect(() => secret("AWS_WEB_IDENTITY_TOKEN")).toThrow(ConfigError);
  });
});

test.each([
  ["127.0.0.1", true],
  ["127.8.0.1", true],
  ["localhost", true],
  ["::1", true],
  ["0.0.0.0", false],
  ["::", false],
  ["192.168.1.5", false],
  ["127.0.0.1.example.org", false],
])("%s is reachable from this machine alone: %j", (host, isAlone) => {
  expect(isLoopback(host)).toBe(isAlone);
});
