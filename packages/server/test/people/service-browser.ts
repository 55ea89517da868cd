/** A browser, as far as signing in through a service needs one: it stores cookies and follows redirects. */
import { cookiesOf, postAsPage } from "./page-requests.ts";

export interface Begun {
  /** The address at the service. */
  readonly url: string;
  readonly cookie: string;
  readonly status: number;
}

export interface CameBack {
  readonly location: string;
  readonly cookie: string;
}

export async function beginAt(server: string, provider: string): Promise<Begun> {
  const body = { provider, callbackURL: "/", errorCallbackURL: "/sign-in" };
  const response = await postAsPage({ url: server }, "/manage/auth/sign-in/social", body);
  const { url = "" } = (await response.json()) as { url?: string };
  return { url, cookie: cookiesOf(response), status: response.status };
}

export async function comeBack(callback: string, cookie: string): Promise<CameBack> {
  const response = await fetch(callback, { redirect: "manual", headers: { cookie } });
  return { location: response.headers.get("location") ?? "", cookie: cookiesOf(response) };
}

export async function signInAt(server: string, provider: string): Promise<CameBack> {
  const { url, cookie } = await beginAt(server, provider);
  const sent = await fetch(url, { redirect: "manual" });
  return comeBack(sent.headers.get("location") ?? "", cookie);
}
