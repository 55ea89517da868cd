/** Requests of a browser's page: sent without our client, because better-auth's endpoints are not in the contract. */
import { PromptdError } from "@promptd/client";

/** Posts JSON as a page of the server does. `headers`, in lower case, override the usual ones. */
export function postAsPage(
  { url }: { readonly url: string },
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json", origin: url, ...headers },
    body: JSON.stringify(body),
  });
}

/** The cookies that a response sets, as a browser sends them back. */
export function cookiesOf({ headers }: { readonly headers: Headers }): string {
  return headers
    .getSetCookie()
    .map((cookie) => cookie.split(";")[0] ?? "")
    .join("; ");
}

/** The code of a link, which follows its #. */
export function codeIn(link: string | null): string {
  return link?.split("#")[1] ?? "";
}

/** How a call of our client ended: "SUCCESS", or the code of its error. */
export function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "SUCCESS",
    (error: unknown) => (error instanceof PromptdError ? error.code : Promise.reject(error)),
  );
}
