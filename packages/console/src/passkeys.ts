/** Passkeys: the browser's part between two requests. */
import { manage } from "./api.ts";

/** False if the browser is too old, or if the page's address is an IP address or not secure. */
export const canUsePasskeys = (): boolean =>
  typeof PublicKeyCredential === "function" &&
  "parseCreationOptionsFromJSON" in PublicKeyCredential &&
  !/^[\d.]+$|:/.test(location.hostname);

/**
 * @param password null: the person has none.
 * @throws Error with a message to show.
 */
export async function addPasskey(name: string, password: string | null): Promise<void> {
  const { options } = await manage.send("beginPasskey", { body: password === null ? {} : { password } });
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
    options as unknown as PublicKeyCredentialCreationOptionsJSON,
  );
  const response = await askBrowser(publicKey.rp.id, () => navigator.credentials.create({ publicKey }));
  await manage.send("addPasskey", { body: { name, response } });
}

/** @throws Error with a message to show. */
export async function signInWithPasskey(): Promise<void> {
  const { options } = await manage.send("beginPasskeySignIn");
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(
    options as unknown as PublicKeyCredentialRequestOptionsJSON,
  );
  const response = await askBrowser(publicKey.rpId, () => navigator.credentials.get({ publicKey }));
  await manage.send("signInWithPasskey", { body: { response } });
}

const CANCELED = "The browser did not return a passkey. The request was canceled or timed out. Try again.";

/** Why there is no passkey, by the name of the browser's error. */
function sentenceOf({ name }: DOMException, domain: string | undefined): string | undefined {
  switch (name) {
    case "NotAllowedError":
      return CANCELED;
    case "InvalidStateError":
      return "This device already has a passkey for your account.";
    case "SecurityError":
      return `Passkeys for this server work only at ${domain ?? "another address"}. Open the console there.`;
    default:
      return undefined;
  }
}

/** Opens the browser's dialog. `domain`: the domain that the server's passkeys belong to. */
async function askBrowser(
  domain: string | undefined,
  ask: () => Promise<Credential | null>,
): Promise<Readonly<Record<string, unknown>>> {
  const credential = await ask().catch((error: unknown) => {
    const sentence = error instanceof DOMException ? sentenceOf(error, domain) : undefined;
    throw sentence === undefined ? error : new Error(sentence);
  });
  if (!(credential instanceof PublicKeyCredential)) throw new Error(CANCELED);
  return credential.toJSON() as unknown as Readonly<Record<string, unknown>>;
}
