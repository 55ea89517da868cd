/** Passkeys: the browser's part between two requests. */
import { manage } from "./api.ts";

/** False if the browser is too old, or if the page's address is an IP address or not secure. */
export const canUsePasskeys = (): boolean =>
  typeof PublicKeyCredential === "function" &&
  "parseCreationOptionsFromJSON" in PublicKeyCredential &&
  !/^[\d.]+$|:/.test(location.hostname);

/** @throws Error with a message to show. */
export async function addPasskey(name: string): Promise<void> {
  const { options } = await manage.send("beginPasskey");
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
    options as unknown as PublicKeyCredentialCreationOptionsJSON,
  );
  const response = await askBrowser(() => navigator.credentials.create({ publicKey }));
  await manage.send("addPasskey", { body: { name, response } });
}

/** @throws Error with a message to show. */
export async function signInWithPasskey(): Promise<void> {
  const { options } = await manage.send("beginPasskeySignIn");
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(
    options as unknown as PublicKeyCredentialRequestOptionsJSON,
  );
  const response = await askBrowser(() => navigator.credentials.get({ publicKey }));
  await manage.send("signInWithPasskey", { body: { response } });
}

const SENTENCES: Readonly<Record<string, string>> = {
  NotAllowedError: "The browser did not return a passkey. The request was canceled or timed out. Try again.",
  InvalidStateError: "This device already has a passkey for your account.",
  SecurityError: "Passkeys do not work at this address. They need localhost, or HTTPS with a domain name.",
};

/** Opens the browser's dialog. The error's name says whether the person canceled it. */
async function askBrowser(ask: () => Promise<Credential | null>): Promise<Readonly<Record<string, unknown>>> {
  const credential = await ask().catch((error: unknown) => {
    const sentence = error instanceof DOMException ? SENTENCES[error.name] : undefined;
    throw sentence === undefined ? error : new Error(sentence);
  });
  if (!(credential instanceof PublicKeyCredential)) throw new Error(SENTENCES["NotAllowedError"]);
  return credential.toJSON() as unknown as Readonly<Record<string, unknown>>;
}
