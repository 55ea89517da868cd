import type { ManageHandlers } from "../http/endpoint.ts";
import type { Database } from "../platform/database/database.ts";
import { invalid, orNotFound, type Problem } from "../platform/problem.ts";
import { actorOf, browserOf } from "./people-manage-routes.ts";
import { findPerson } from "./people-store.ts";
import type { Sessions } from "./sign-in/sessions.ts";
import { deletePasskey, listPasskeys } from "./sign-in/passkeys-store.ts";
import { relyingPartyOf, type RelyingParty } from "./sign-in/relying-party.ts";

export interface PasskeysRoutesOptions {
  readonly db: Database;
  readonly newId: () => string;
  readonly secret: string;
  readonly publicUrl: () => string;
  readonly sessions: Sessions;
}

/** Loaded when a passkey is first used: a start does not wait for it. */
const load = () => import("./sign-in/passkeys.ts");

export function passkeysManageRoutes(options: PasskeysRoutesOptions) {
  const { db, publicUrl, sessions } = options;
  const party = () => requireParty(publicUrl());
  return {
    listPasskeys: async (_input, context) => ({ data: { rows: await listPasskeys(db, actorOf(context).personId) } }),
    beginPasskey: async (_input, context) => {
      const person = await findPerson(db, actorOf(context).personId);
      if (person === null) throw new Error("The person of an admitted session does not exist.");
      return { data: { options: await (await load()).creationOptions(person, party(), options) } };
    },
    addPasskey: async ({ body }, context) => {
      const { personId } = actorOf(context);
      const passkey = await (await load()).addPasskey({ personId, ...body }, party(), options);
      if (passkey === null) {
        throw refusal(
          "The passkey was not added: the answer is not one to a request of the last five minutes, the passkey is known already, or you have 20. Try again.",
        );
      }
      return { data: passkey };
    },
    removePasskey: async ({ params: { passkeyId } }, context) => {
      return { data: orNotFound(await deletePasskey(db, actorOf(context).personId, passkeyId), "passkey", passkeyId) };
    },
    beginPasskeySignIn: async () => ({
      data: { options: await (await load()).requestOptions(party(), options) },
    }),
    signInWithPasskey: async ({ body: { response } }, context) => {
      const personId = await (await load()).findSignedIn(response, party(), options);
      if (personId === null) {
        throw refusal("This passkey does not sign in here. Try again, or sign in another way and check your passkeys.");
      }
      const cookies = await sessions.signIn(personId, browserOf(context));
      return { data: { personId }, headers: { "set-cookie": cookies } };
    },
  } satisfies Partial<ManageHandlers>;
}

/** Every answer that does not do is refused with one text: nobody learns which passkeys there are. */
function refusal(message: string): Problem {
  return invalid([{ path: ["body", "response"], code: "invalid_value", message }]);
}

function requireParty(publicUrl: string): RelyingParty {
  const party = relyingPartyOf(publicUrl);
  if (party !== null) return party;
  const message =
    "Passkeys need HTTPS and a domain name. Ask an operator to set PROMPTD_PUBLIC_URL to such an address.";
  throw invalid([{ path: ["header", "Host"], code: "conflict", message }]);
}
