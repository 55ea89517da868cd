/** Limits of one request, in UTF-8 bytes and counts (specification, "Limits", and API design). */
export const REQUEST_LIMITS = {
  textBytesMax: 100 * 1024,
  textBytesMaxTotal: 1024 * 1024,
  textKeysMax: 64,
  imagesMax: 32,
  searchCodePointsMax: 200,
  slugsMax: 40,
  pageMin: 1,
  pageMax: 50,
} as const;
