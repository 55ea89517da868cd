/**
 * If there is mail, people who sign up on their own confirm their address before their first sign-in. The link in the
 * mail leads to a page where the person confirms it: programs that open links in mails must not confirm anything or
 * sign anybody in.
 */
const PATH = "/verify-email";
/** A page of the console. */
const PAGE = "/confirm-address";

/** What better-auth has to know about it. `send`: null if nobody has to confirm anything. */
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

interface PageRequest {
  readonly path: string;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly headers?: Headers | undefined;
}

/**
 * Where to redirect a confirmation request that did not come from a script on our pages: opening a link does not send
 * the header that our scripts send, and pages of other origins may not send it. Null: the request came from our pages,
 * or is about something else.
 */
export function confirmationPage({ path, query, headers }: PageRequest, url: string): string | null {
  if (path !== PATH || headers?.get("content-type") === "application/json") return null;
  return pageOf(url, typeof query?.["token"] === "string" ? query["token"] : "");
}

/** The token is in the fragment, which browsers never send and logs never contain. */
function pageOf(url: string, token: string): string {
  return `${url}${PAGE}#${token}`;
}
