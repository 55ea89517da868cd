/** Signing in and out: the endpoints of the library that keeps sessions, which speaks a form of its own. */
export type SignInAnswer = { readonly ok: true } | { readonly ok: false; readonly message: string };

async function post(path: string, body: unknown): Promise<SignInAnswer> {
  const answer = await fetch(`/manage/auth/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  }).catch(() => null);
  if (answer === null) {
    return { ok: false, message: "The server could not be reached. Check the connection, then try again." };
  }
  if (answer.ok) return { ok: true };
  const answered = (await answer.json().catch(() => null)) as { message?: unknown } | null;
  const message = typeof answered?.message === "string" ? answered.message : `The server answered ${answer.status}.`;
  return { ok: false, message };
}

export function signIn(email: string, password: string): Promise<SignInAnswer> {
  return post("sign-in/email", { email, password, rememberMe: true });
}

export function signOut(): Promise<SignInAnswer> {
  return post("sign-out", {});
}

/** What a field of a form holds; a file is no text. */
export function textOf(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value : "";
}
