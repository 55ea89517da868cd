/**
 * Passkeys (WebAuthn), through @simplewebauthn/server: the only file that imports it. better-auth's own plugin requires
 * other versions of its dependencies than better-auth itself (docs/decisions/2026-11-23-passkeys.md).
 */
import type { CredentialJson, Passkey, Person } from "@promptd/contract/manage";
import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
  type AuthenticationResponseJSON,
  type AuthenticatorTransport,
  type RegistrationResponseJSON,
} from "@simplewebauthn/server";
import { createHmac, randomBytes } from "node:crypto";
import { systemClock } from "../../platform/clock.ts";
import type { Database } from "../../platform/database/database.ts";
import { isSameSecret } from "../../platform/secrets.ts";
import type { PeopleContext } from "../people-context.ts";
import type { RelyingParty } from "./relying-party.ts";
import {
  findCredential,
  insertPasskey,
  listCredentials,
  noteUse,
  useChallenge,
  type StoredCredential,
} from "./passkeys-store.ts";

const PASSKEYS_PER_PERSON_MAX = 20;
/** Time for a person to find and touch a security key. */
const CHALLENGE_SECONDS = 300;
/**
 * Ed25519, ES256, and RS256, as COSE numbers them: the library's defaults, except for signatures that are still
 * experimental in Node, which warns about them when the library only asks whether it supports them.
 */
const ALGORITHMS = [-8, -7, -257];

/** What a browser needs to create a passkey for this person. */
export async function creationOptions(
  owner: Person,
  party: RelyingParty,
  { db, secret }: PeopleContext,
): Promise<CredentialJson> {
  const known = await listCredentials(db, owner.personId);
  const options = await generateRegistrationOptions({
    rpName: "promptd",
    rpID: party.id,
    userID: Uint8Array.from(Buffer.from(owner.personId.replaceAll("-", ""), "hex")),
    userName: owner.email,
    userDisplayName: owner.name,
    challenge: mintChallenge(owner.personId, secret),
    timeout: CHALLENGE_SECONDS * 1_000,
    supportedAlgorithmIDs: ALGORITHMS,
    excludeCredentials: known.map(({ credentialId, transports }) => ({
      id: credentialId,
      ...transportsOf(transports),
    })),
    // The passkey alone signs in, so it must identify the person and verify that it is them.
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
  });
  return { ...options };
}

/** Null: the browser's response does not match a challenge of ours for this person, or there are too many passkeys. */
export async function addPasskey(
  given: { readonly personId: string; readonly name: string; readonly response: CredentialJson },
  party: RelyingParty,
  { db, newId, secret }: PeopleContext,
): Promise<Passkey | null> {
  const checked = await verifyRegistrationResponse({
    response: given.response as unknown as RegistrationResponseJSON,
    expectedChallenge: (challenge) => isOurs(challenge, given.personId, secret),
    expectedOrigin: party.origin,
    expectedRPID: party.id,
    requireUserVerification: true,
    supportedAlgorithmIDs: ALGORITHMS,
  }).catch(() => null); // anything a stranger sends: malformed, unsigned, from another origin
  if (checked?.verified !== true || !(await takeChallenge(given.response, db))) return null;
  const {
    credential,
    aaguid,
    credentialBackedUp: isBackedUp,
    credentialDeviceType: deviceType,
  } = checked.registrationInfo;
  const row = {
    passkeyId: newId(),
    personId: given.personId,
    name: given.name,
    credentialId: credential.id,
    publicKey: Buffer.from(credential.publicKey).toString("base64url"),
    counter: credential.counter,
    transports: credential.transports === undefined ? null : credential.transports.join(","),
  };
  return db.tx((tx) => insertPasskey(tx, { ...row, deviceType, isBackedUp, aaguid }, PASSKEYS_PER_PERSON_MAX));
}

/** What a browser needs to sign in: any passkey of this server is accepted, and identifies its person. */
export async function requestOptions(party: RelyingParty, { secret }: PeopleContext): Promise<CredentialJson> {
  const options = await generateAuthenticationOptions({
    rpID: party.id,
    challenge: mintChallenge("", secret),
    timeout: CHALLENGE_SECONDS * 1_000,
    userVerification: "required",
  });
  return { ...options };
}

/** The person whose passkey responded; null: it is not one of ours, for whatever reason. */
export async function findSignedIn(
  response: CredentialJson,
  party: RelyingParty,
  { db, secret }: PeopleContext,
): Promise<string | null> {
  const id = response["id"];
  const stored = typeof id === "string" ? await findCredential(db, id) : null;
  if (stored === null) return null;
  const checked = await verifyAuthenticationResponse({
    response: response as unknown as AuthenticationResponseJSON,
    expectedChallenge: (challenge) => isOurs(challenge, "", secret),
    expectedOrigin: party.origin,
    expectedRPID: party.id,
    credential: {
      id: stored.credentialId,
      publicKey: Uint8Array.from(Buffer.from(stored.publicKey, "base64url")),
      counter: stored.counter,
      ...transportsOf(stored.transports),
    },
    requireUserVerification: true,
  }).catch(() => null);
  if (checked?.verified !== true || !(await takeChallenge(response, db))) return null;
  const { newCounter: counter, credentialBackedUp: isBackedUp } = checked.authenticationInfo;
  return (await noteUse(db, stored.passkeyId, { counter, isBackedUp })) ? stored.personId : null;
}

function transportsOf(list: StoredCredential["transports"]): { transports?: AuthenticatorTransport[] } {
  return list === null || list === "" ? {} : { transports: list.split(",") as AuthenticatorTransport[] };
}

const RANDOM_BYTES = 16;
const TIME_BYTES = 8;

/** Random bytes, the expiry, and our signature over both for this person; "": for anyone signing in. */
function mintChallenge(personId: string, secret: string): Uint8Array<ArrayBuffer> {
  const head = Buffer.alloc(RANDOM_BYTES + TIME_BYTES);
  randomBytes(RANDOM_BYTES).copy(head);
  head.writeBigUInt64BE(BigInt(systemClock.nowMs() + CHALLENGE_SECONDS * 1_000), RANDOM_BYTES);
  return Uint8Array.from(Buffer.concat([head, signatureOf(head, personId, secret)]));
}

function isOurs(challenge: string, personId: string, secret: string): boolean {
  const bytes = Buffer.from(challenge, "base64url");
  const [head, signature] = [bytes.subarray(0, RANDOM_BYTES + TIME_BYTES), bytes.subarray(RANDOM_BYTES + TIME_BYTES)];
  if (head.length < RANDOM_BYTES + TIME_BYTES) return false;
  const isSigned = isSameSecret(signature, signatureOf(head, personId, secret));
  return isSigned && head.readBigUInt64BE(RANDOM_BYTES) >= BigInt(systemClock.nowMs());
}

function signatureOf(head: Buffer, personId: string, secret: string): Buffer {
  return createHmac("sha256", secret).update("challenge of a passkey").update(head).update(personId).digest();
}

/** Uses up the challenge of a checked response. False: it was answered before. */
async function takeChallenge(response: CredentialJson, db: Database): Promise<boolean> {
  const { clientDataJSON } = response["response"] as { readonly clientDataJSON: string };
  const { challenge } = JSON.parse(Buffer.from(clientDataJSON, "base64url").toString()) as {
    readonly challenge: string;
  };
  return useChallenge(db, Buffer.from(challenge, "base64url"), CHALLENGE_SECONDS);
}
