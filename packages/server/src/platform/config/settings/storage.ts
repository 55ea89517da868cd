import { address, integer, postgresUrl, range, setting, text } from "../setting-forms.ts";

export const DATABASE = {
  DATABASE_URL: setting(postgresUrl, {
    default: null,
    expected: "postgresql://user:password@host:5432/database",
    meaning: "Your own PostgreSQL, 15 or newer. Unset: an embedded PostgreSQL 18 in the data directory.",
    isSecret: true,
  }),
  DATABASE_DIRECT_URL: setting(postgresUrl, {
    default: null,
    expected: "postgresql://user:password@host:5432/database",
    meaning:
      "The same database, bypassing the transaction pooler, for notifications and migrations. Unset: DATABASE_URL.",
    isSecret: true,
    requires: ["DATABASE_URL"],
  }),
  PROMPTD_DATABASE_POOL: range("a number", [2, 200], {
    default: "8",
    meaning: "Database connections for transactions. Five more serve reads, heartbeats, sweeps, and notifications.",
  }),
  PROMPTD_DATA_DIR: setting(text, {
    default: "./.promptd",
    expected: "a directory",
    meaning: "Directory for the embedded database, generated files, and secrets.",
  }),
  PROMPTD_DB_UID: setting(integer(1, 4_294_967_294), {
    default: "65534",
    expected: "a user id",
    meaning: "User the embedded database runs as when promptd runs as root.",
  }),
} as const;

export const FILES = {
  PROMPTD_FILE_TTL_SECONDS: range("seconds", [1, 31_536_000], {
    default: "86400",
    meaning: "Lifetime of a generated file. After that, its URL returns 410.",
  }),
  PROMPTD_S3_BUCKET: setting(text.regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/), {
    default: null,
    expected: "a bucket name of 3 to 63 lowercase letters, digits, periods, and hyphens",
    meaning: "Stores files in this S3-compatible bucket instead of the data directory.",
    requires: ["PROMPTD_S3_ENDPOINT", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"],
  }),
  PROMPTD_S3_ENDPOINT: address("Base URL of the bucket's S3 service, such as https://s3.eu-central-1.amazonaws.com."),
  PROMPTD_S3_REGION: setting(text, {
    default: "us-east-1",
    expected: "a region",
    meaning: "Region used to sign requests to the bucket.",
  }),
  PROMPTD_S3_PREFIX: setting(text.regex(/^[A-Za-z0-9/_.-]{1,200}$/), {
    default: "promptd/",
    expected: "up to 200 letters, digits, and / _ . -",
    meaning: "Prefix of every object name in the bucket.",
  }),
} as const;
