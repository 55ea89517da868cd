/** NIST SP 800-63B-4, section 3.1.1.2: 15 where a password stands alone, 8 beside a second factor. 12 is between them. */
export const PASSWORD_LENGTHS = { min: 12, max: 128 } as const;

/** What is wrong with a new password; null: nothing. */
export function passwordFault(password: string): string | null {
  const { min, max } = PASSWORD_LENGTHS;
  if (password.length < min) return `password must have at least ${min} characters.`;
  return password.length > max ? `password must have at most ${max} characters.` : null;
}
