import { loadOnce } from "../../platform/resilience/load-once.ts";
import type { Sessions } from "./sessions.ts";
import type { SessionsOptions } from "../sessions-options.ts";

/** Loads the sign-in library at first use: neither startup nor an operator command has to wait for it. */
export function createLazySessions(options: SessionsOptions): Sessions {
  const get = loadOnce(async () => (await import("./sessions.ts")).createSessions(options));
  return {
    handle: async (request, address) => (await get()).handle(request, address),
    isPasswordOf: async (personId, password) => (await get()).isPasswordOf(personId, password),
    hashPassword: async (password) => (await get()).hashPassword(password),
    storeOnce: async (name, text, seconds) => (await get()).storeOnce(name, text, seconds),
    takeOnce: async (name) => (await get()).takeOnce(name),
    signIn: async (personId, from) => (await get()).signIn(personId, from),
  };
}
