/** Replaces the database's name and nothing else: a socket URL has no host, which the URL class refuses. */
export function withDatabase(url: string, name: string): string {
  return url.replace(/^(?<head>[a-z]+:\/\/[^/]*\/)[^?]*/, `$<head>${name}`);
}
