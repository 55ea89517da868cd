/** The mails that promptd sends, as plain text: every mail client shows it, and nothing in it can be scripted. */
import type { MailText } from "./mails-store.ts";

export function invitationMail(given: {
  readonly link: string;
  /** Shown name of the account; null: the installation itself. */
  readonly account: string | null;
  readonly invitedBy: string;
  readonly days: number;
}): MailText {
  const { link, account, invitedBy, days } = given;
  const [from, to] = [oneLine(invitedBy), account === null ? "promptd" : oneLine(account)];
  return {
    kind: "invitation",
    subject: `Invitation to ${to}`,
    body: lines(
      `${from} invites you to ${account === null ? "promptd" : `the account ${to} on promptd`}.`,
      "Open this link to accept:",
      link,
      `It works once, within ${days} days. If you did not expect this mail, ignore it.`,
    ),
  };
}

export function resetMail(link: string): MailText {
  return {
    kind: "password_reset",
    subject: "Set a new password",
    body: lines(
      "Somebody, probably you, asked to set a new password for your promptd sign-in.",
      "Open this link to set one:",
      link,
      "It works once, within an hour, and signs you out everywhere. If you did not ask, ignore this mail: your password stays as it is.",
    ),
  };
}

export function verificationMail(link: string): MailText {
  return {
    kind: "verification",
    subject: "Confirm your email address",
    body: lines(
      "Somebody, probably you, signed up to promptd with this address.",
      "Open this link to confirm it and sign in:",
      link,
      "It works within an hour. If you did not sign up, ignore this mail.",
    ),
  };
}

export function newAddressMail(link: string): MailText {
  return {
    kind: "new_address",
    subject: "Confirm your new email address",
    body: lines(
      "Somebody, probably you, wants to sign in to promptd with this address from now on.",
      "Open this link to confirm it:",
      link,
      "It works once, within an hour. If you did not ask, ignore this mail.",
    ),
  };
}

/** To the address that somebody wants and somebody has: only who reads its mail learns that. */
export function addressTakenMail(): MailText {
  return {
    kind: "address_taken",
    subject: "This email address is in use already",
    body: lines(
      "Somebody, probably you, wants to sign in to promptd with this address from now on. It belongs to another sign-in or account already, so nothing has changed.",
      "Sign in with this address, or choose another one. If you did not ask, ignore this mail.",
    ),
  };
}

/** To the address before. */
export function addressChangedMail(to: string): MailText {
  return {
    kind: "address_changed",
    subject: "Your email address was changed",
    body: lines(
      `Your promptd sign-in has the address ${oneLine(to)} from now on. This one does not sign in any more.`,
      "If this was not you, ask an operator of this server at once to change it back.",
    ),
  };
}

/** To the owners of the account. */
export function webhookDisabledMail({ url, reason }: { readonly url: string; readonly reason: string }): MailText {
  return {
    kind: "webhook_disabled",
    subject: "A webhook was disabled",
    body: lines(
      `This webhook of your account gets no more events: ${reason}`,
      url,
      "Mend the receiver, then enable the webhook in the console, under Settings, Webhooks. Its deliveries there can be repeated.",
    ),
  };
}

function lines(...paragraphs: readonly string[]): string {
  return `${paragraphs.join("\n\n")}\n`;
}

/** Names are what people call themselves: they must not add lines, and so sentences of their own, to a mail. */
function oneLine(name: string): string {
  return name
    .replaceAll(/[\p{C}\s]+/gu, " ")
    .trim()
    .slice(0, 100);
}
