/** Provider calls for one output item of a run: retries, corrections of JSON and fallbacks all count. */
export const ATTEMPTS_MAX = 3;
