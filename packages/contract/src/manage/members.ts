import type { MemberRole } from "./people.ts";

/** Somebody who may act in the account. */
export interface Member {
  readonly personId: string;
  readonly name: string;
  readonly email: string;
  readonly role: MemberRole;
  /** True: the account was made for this person, who cannot leave it. */
  readonly isPersonal: boolean;
  readonly since: string;
}

/** What the own account of somebody invited to the installation begins with; null: what everybody new gets. */
export interface InvitationTerms {
  readonly plan: "pro" | "none" | null;
  readonly credits: number | null;
}

export interface Invitation extends InvitationTerms {
  readonly invitationId: string;
  readonly email: string;
  /** Null: an invitation to the installation alone, with an account of one's own. */
  readonly accountId: string | null;
  readonly role: MemberRole;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly acceptedAt: string | null;
  readonly revokedAt: string | null;
}

export interface CreatedInvitation extends Invitation {
  /** Whoever opens it may accept the invitation; shown this once. Null: it goes to the address by mail, to nobody else. */
  readonly link: string | null;
}

/** To the installation, as operators alone see it. */
export interface PersonInvitation extends Invitation {
  /** True: somebody with this address is here already, and who accepts adds to the account that they have. */
  readonly hasPerson: boolean;
}

export interface CreatedPersonInvitation extends CreatedInvitation, PersonInvitation {}

export interface NewPersonInvitation {
  readonly email: string;
  /** Absent: what everybody new gets. */
  readonly plan?: "pro" | "none" | undefined;
  /** Absent: what everybody new gets. */
  readonly credits?: number | undefined;
}

export interface NewInvitation {
  readonly email: string;
  readonly role: MemberRole;
}

/** What an invitation says of itself to who opens it. */
export interface InvitationOffer {
  readonly email: string;
  /** Shown name of the account; null: the installation alone, with an account of one's own. */
  readonly account: string | null;
  readonly invitedBy: string;
}

/** What the code of an invitation led to. */
export type Accepted =
  | { readonly kind: "signed_in"; readonly personId: string; readonly accountId: string | null }
  /** Somebody new: a name and a password are asked for. */
  | ({ readonly kind: "set_up" } & InvitationOffer)
  /** Somebody with this address is here already: sign in, then join. */
  | ({ readonly kind: "sign_in" } & InvitationOffer);

/** A person as operators see them. */
export interface PersonOfInstallation {
  readonly personId: string;
  readonly name: string;
  readonly email: string;
  readonly isOperator: boolean;
  readonly isFrozen: boolean;
  /** When they last asked for a new password where no mail is sent; null: they have not, or have got a link since. */
  readonly linkAskedAt: string | null;
  readonly createdAt: string;
}

export interface PersonChanges {
  /** By which they sign in; their own account is called by it too. */
  readonly email?: string | undefined;
  readonly isOperator?: boolean | undefined;
  readonly isFrozen?: boolean | undefined;
}
