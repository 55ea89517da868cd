import type { MemberRole } from "./people.ts";

/** A member of the account. */
export interface Member {
  readonly personId: string;
  readonly name: string;
  readonly email: string;
  readonly role: MemberRole;
  /** True: it is this person's personal account, which they cannot leave. */
  readonly isPersonal: boolean;
  readonly since: string;
}

/** The initial plan and credits of the invited person's account; null: the installation's defaults. */
export interface InvitationTerms {
  readonly plan: "pro" | "none" | null;
  readonly credits: number | null;
}

export interface Invitation extends InvitationTerms {
  readonly invitationId: string;
  readonly email: string;
  /** Null: an invitation to the installation only, with a personal account. */
  readonly accountId: string | null;
  readonly role: MemberRole;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly acceptedAt: string | null;
  readonly revokedAt: string | null;
}

export interface CreatedInvitation extends Invitation {
  /** Anyone who opens the link can accept the invitation; shown only this once. Null: the link is sent by mail only. */
  readonly link: string | null;
}

/** An invitation to the installation; only operators see it. */
export interface PersonInvitation extends Invitation {
  /** True: a person with this address already exists, and accepting adds to their account. */
  readonly hasPerson: boolean;
}

export interface CreatedPersonInvitation extends CreatedInvitation, PersonInvitation {}

export interface NewPersonInvitation {
  readonly email: string;
  /** Absent: the installation's default. */
  readonly plan?: "pro" | "none" | undefined;
  /** Absent: the installation's default. */
  readonly credits?: number | undefined;
}

export interface NewInvitation {
  readonly email: string;
  readonly role: MemberRole;
}

/** What an invitation shows to the person who opens it. */
export interface InvitationOffer {
  readonly email: string;
  /** The account's display name; null: an invitation to the installation only, with a personal account. */
  readonly account: string | null;
  readonly invitedBy: string;
}

/** The result of opening an invitation. */
export type Accepted =
  | { readonly kind: "signed_in"; readonly personId: string; readonly accountId: string | null }
  /** A new person: ask for a name and a password. */
  | ({ readonly kind: "set_up" } & InvitationOffer)
  /** A person with this address already exists: sign in, then join. */
  | ({ readonly kind: "sign_in" } & InvitationOffer);

/** A person as operators see them. */
export interface PersonOfInstallation {
  readonly personId: string;
  readonly name: string;
  readonly email: string;
  readonly isOperator: boolean;
  readonly isFrozen: boolean;
  /**
   * When they last requested a new password on an installation without mail; null: never, or they have a link by now.
   */
  readonly linkAskedAt: string | null;
  readonly createdAt: string;
}

export interface PersonChanges {
  /** The address they sign in with; it also identifies their personal account. */
  readonly email?: string | undefined;
  readonly isOperator?: boolean | undefined;
  readonly isFrozen?: boolean | undefined;
}
