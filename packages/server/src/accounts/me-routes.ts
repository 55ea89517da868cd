import { USER_FLAGS } from "@promptd/contract";
import type { Handlers } from "../http/endpoint.ts";

export function meRoutes() {
  return {
    getMe: async (_input, { caller: { account } }) => {
      if (account === undefined) throw new Error("A request was admitted without an API key.");
      const { username, displayName, flags, isPro } = account;
      return { data: { username, displayName, userFlags: flags | (isPro ? USER_FLAGS.planActive : 0) } };
    },
  } satisfies Partial<Handlers>;
}
