import type { ShapesOf } from "../../endpoints.ts";
import type { ExamplesOf } from "../../examples/endpoint-examples.ts";
import type { passkeysSchemas } from "../schemas/passkeys.ts";

const PASSKEY_ID = "019a2b15-05d1-7c42-8f30-6a9d1e4b7c25";
const CREDENTIAL_ID = "kD2vQ8xW5mLr1nYt";
const passkey = {
  passkeyId: PASSKEY_ID,
  name: "Laptop",
  isBackedUp: true,
  createdAt: "2026-11-22T10:00:00.000Z",
  lastUsedAt: null,
} as const;

const answer = (response: Readonly<Record<string, string>>) => ({
  id: CREDENTIAL_ID,
  rawId: CREDENTIAL_ID,
  type: "public-key",
  clientExtensionResults: {},
  response,
});

export const passkeysExamples: ExamplesOf<ShapesOf<typeof passkeysSchemas>> = {
  listPasskeys: { data: { rows: [passkey] } },
  beginPasskey: {
    bodies: { withPassword: { password: "correct horse battery staple" } },
    data: {
      options: {
        challenge: "Vt3oO5mX2bqk9wZr1cHs7A",
        rp: { id: "promptd.example.org", name: "promptd" },
        user: { id: "AZorEHpBfD6dUh8LbI4qdw", name: "ada@example.org", displayName: "Ada Lovelace" },
        pubKeyCredParams: [{ type: "public-key", alg: -7 }],
      },
    },
  },
  addPasskey: {
    bodies: {
      laptop: {
        name: passkey.name,
        response: answer({
          clientDataJSON: "eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIn0",
          attestationObject: "o2NmbXRkbm9uZQ",
        }),
      },
    },
    data: passkey,
  },
  removePasskey: { parameters: { passkeyId: PASSKEY_ID }, data: passkey },
  beginPasskeySignIn: {
    data: {
      options: { challenge: "Vt3oO5mX2bqk9wZr1cHs7A", rpId: "promptd.example.org", userVerification: "required" },
    },
  },
  signInWithPasskey: {
    bodies: {
      browser: {
        response: answer({
          clientDataJSON: "eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0",
          authenticatorData: "SZYN5YgOjGh0NBcPZHZgW4",
          signature: "MEUCIQDcJk3vVwQ",
        }),
      },
    },
    data: { personId: "019a2b10-7a41-7c3e-9d52-1f0b6c8e2a77" },
  },
};
