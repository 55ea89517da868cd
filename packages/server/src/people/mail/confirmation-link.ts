/**
 * Whoever signs up by themselves confirms their address before the first sign-in, where there is mail. The link in the mail
 * leads to a page: programs that open links of mails must confirm nothing and sign nobody in, so a person does.
 */
const PATH = "/verify-email";
/** Of the console. */
const PAGE = "/confirm-address";

/** What better-auth has to know of it. `send`: null where nobody has to confirm anything. */
export function confirmationOf(send: ((email: string, link: string) => Promise<void>) | null, url: string) {
  if (send === null) return {};
  return {
    emailVerification: {
      sendOnSignUp: true,
      sendOnSignIn: true,
      autoSignInAfterVerification: true,
      sendVerificationEmail: ({ user, token }: { user: { email: string }; token: string }) =>
        send(user.email, pageOf(url, token)),
    },
  };
}

interface Asked {
  readonly path: string;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly headers?: Headers | undefined;
}

/**
 * Where a request to confirm an address is sent that no script of our pages has made: opening a link adds no such header,
 * and pages of other origins may not. Null: it is one of ours, or about something else.
 */
export function confirmationPage({ path, query, headers }: Asked, url: string): string | null {
  if (path !== PATH || headers?.get("content-type") === "application/json") return null;
  return pageOf(url, typeof query?.["token"] === "string" ? query["token"] : "");
}

/** The token stands in the fragment, which no browser sends and no log sees. */
function pageOf(url: string, token: string): string {
  return `${url}${PAGE}#${token}`;
}
