const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Ids of runs, of requests and of prompts. */
export const isUuid = (text: string): boolean => UUID.test(text);
