/** The mails that promptd sends, as plain text: every mail client shows it, and it cannot contain scripts. */
import type { MailText } from "./mails-store.ts";

export function invitationMail(given: {
  readonly link: string;
  /** Display name of the account; null: the invitation is to the installation itself. */
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
      `${from} has invited you to join ${account === null ? "promptd" : `the account ${to} on promptd`}.`,
      "Open this link to accept:",
      link,
      `This link works once and expires in ${days} days. If you did not expect this email, you can ignore it.`,
    ),
  };
}

export function resetMail(link: string): MailText {
  return {
    kind: "password_reset",
    subject: "Set a new password",
    body: lines(
      "Someone, probably you, asked to set a new password for your promptd sign-in.",
      "Open this link to set a new password:",
      link,
      "This link works once and expires in one hour. Setting a new password signs you out everywhere. If you did not request this, you can ignore this email: your password stays the same.",
    ),
  };
}

export function verificationMail(link: string): MailText {
  return {
    kind: "verification",
    subject: "Confirm your email address",
    body: lines(
      "Someone, probably you, signed up for promptd with this address.",
      "Open this link to confirm it and sign in:",
      link,
      "This link expires in one hour. If you did not sign up, you can ignore this email.",
    ),
  };
}

export function newAddressMail(link: string): MailText {
  return {
    kind: "new_address",
    subject: "Confirm your new email address",
    body: lines(
      "Someone, probably you, asked to use this address to sign in to promptd.",
      "Open this link to confirm it:",
      link,
      "This link works once and expires in one hour. If you did not request this, you can ignore this email.",
    ),
  };
}

/** Sent to an address that somebody requested but that is already taken: only people who read its mail learn that. */
export function addressTakenMail(): MailText {
  return {
    kind: "address_taken",
    subject: "This email address is already in use",
    body: lines(
      "Someone, probably you, asked to use this address to sign in to promptd. Another sign-in or account already has this address, so nothing has changed.",
      "Sign in with this address, or choose another one. If you did not request this, you can ignore this email.",
    ),
  };
}

/** Sent to a person when somebody signs up with their address: the page of the sign-up promises a mail either way. */
export function signedUpBeforeMail(url: string): MailText {
  return {
    kind: "address_taken",
    subject: "You already have a promptd sign-in",
    body: lines(
      "Someone, probably you, signed up for promptd with this address. It already has a sign-in, so nothing has changed.",
      "Sign in the way you did before. If you have no password, forgot it, or never confirmed this address, set a new password here:",
      `${url}/forgot-password`,
      "If you did not sign up, you can ignore this email.",
    ),
  };
}

/** Sent to the previous address. */
export function addressChangedMail(to: string): MailText {
  return {
    kind: "address_changed",
    subject: "Your email address was changed",
    body: lines(
      `Your promptd sign-in now uses the address ${oneLine(to)}. You can no longer sign in with this address.`,
      "If you did not make this change, ask an operator of this server to change it back right away.",
    ),
  };
}

/** Sent to the owners of the account. */
export function webhookDisabledMail({ url, reason }: { readonly url: string; readonly reason: string }): MailText {
  return {
    kind: "webhook_disabled",
    subject: "A webhook was disabled",
    body: lines(
      `This webhook of your account no longer receives events: ${reason}`,
      url,
      "Fix the receiver, then enable the webhook in the console, under Settings, Webhooks. You can repeat its deliveries there.",
    ),
  };
}

function lines(...paragraphs: readonly string[]): string {
  return `${paragraphs.join("\n\n")}\n`;
}

/** People choose their own names: names must not add lines, and thus their own sentences, to a mail. */
function oneLine(name: string): string {
  const line = name.replaceAll(/[\p{C}\s]+/gu, " ").trim();
  return Array.from(line).slice(0, 100).join("");
}
