/** Replaces only the database's name: a socket URL has no host, which the URL class rejects. */
export function withDatabase(url: string, name: string): string {
  return url.replace(/^(?<head>[a-z]+:\/\/[^/]*\/)[^?]*/, `$<head>${name}`);
}
