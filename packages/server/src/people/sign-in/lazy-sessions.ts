import type { Sessions, SessionsOptions } from "./sessions.ts";

/** Loads the sign-in library at first use: neither startup nor an operator command has to wait for it. */
export function createLazySessions(options: SessionsOptions): Sessions {
  let made: Promise<Sessions> | null = null;
  const get = () => (made ??= import("./sessions.ts").then(({ createSessions }) => createSessions(options)));
  return {
    handle: async (request, address) => (await get()).handle(request, address),
    createPerson: async (person) => (await get()).createPerson(person),
    isPasswordOf: async (personId, password) => (await get()).isPasswordOf(personId, password),
    setPassword: async (personId, password) => (await get()).setPassword(personId, password),
    storeOnce: async (name, text, seconds) => (await get()).storeOnce(name, text, seconds),
    takeOnce: async (name) => (await get()).takeOnce(name),
    signIn: async (personId, from) => (await get()).signIn(personId, from),
  };
}
