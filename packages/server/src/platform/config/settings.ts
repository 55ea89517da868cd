/**
 * Every setting of promptd: its environment variable, form, default, and meaning. config.ts reads the environment
 * by this table, and a test compares the documentation's settings page with it.
 */
import { SERVER, REQUESTS, OPERATION } from "./settings/server.ts";
import { DATABASE, FILES } from "./settings/storage.ts";
import { PEOPLE, CREDITS } from "./settings/accounts.ts";
import { RUNS, MODELS, SEARCH } from "./settings/runs.ts";

/** By heading on the settings page. */
export const SETTING_GROUPS = {
  Server: SERVER,
  Requests: REQUESTS,
  "Stopping, logs, and metrics": OPERATION,
  Database: DATABASE,
  Files: FILES,
  "Sign-up, sign-in, and mail": PEOPLE,
  "Plans and credits": CREDITS,
  Runs: RUNS,
  Models: MODELS,
  Search: SEARCH,
} as const;

export const SETTINGS = {
  ...SERVER,
  ...REQUESTS,
  ...OPERATION,
  ...DATABASE,
  ...FILES,
  ...PEOPLE,
  ...CREDITS,
  ...RUNS,
  ...MODELS,
  ...SEARCH,
} as const;
