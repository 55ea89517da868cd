/** Limits of a prompt file's fields, for the reader and for the schema that editors use. Lengths are in characters. */
export const FIELD_LIMITS = {
  titleLength: 120,
  slugLength: 120,
  descriptionLength: 2_000,
  tags: 10,
  tagLength: 64,
  images: 16,
  steps: 10,
  samples: 10,
  tests: 100,
  messages: 40,
  fallbacks: 3,
  stops: 8,
  count: 4,
  temperature: 2,
  topP: 1,
} as const;

/** Of a slug that an author chooses. */
export const SLUG = new RegExp(`^[a-z0-9-]{1,${FIELD_LIMITS.slugLength}}$`);
