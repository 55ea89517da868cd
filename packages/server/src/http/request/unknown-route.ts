import { ENDPOINTS, printable } from "@promptd/contract";
import { Problem } from "../../platform/problem.ts";
import { plainPath } from "./query.ts";

/** Paths outside /v1; they need no API key. */
export const OPEN_PATHS = {
  health: "/healthz",
  readiness: "/readyz",
  openapi: "/openapi.json",
  file: "/files/:name",
} as const;

/** However the path is spelled: percent-encoding must not lead past admission. */
export function isUnderV1(target: string): boolean {
  const path = decodePath(plainPath(target));
  return path === "/v1" || path.startsWith("/v1/");
}

/** What cannot be decoded stays as it is; it is refused as a bad path elsewhere. */
function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** 404 also for a wrong method, since 405 is not among the specified statuses; `Allow` tells the difference. */
export function unrecognized(method: string, target: string): Problem {
  const path = plainPath(target);
  const allowed = allowedMethods(path);
  const headers = allowed.length === 0 ? {} : { allow: [...allowed, "OPTIONS"].join(", ") };
  return new Problem("NOT_FOUND_ERROR", `Unrecognized request: ${method} ${printable(path, 200)}.`, { headers });
}

export function badPath(): Problem {
  return new Problem(
    "BAD_REQUEST_ERROR",
    "The path is not valid percent-encoded UTF-8. Write such characters as their bytes: caf%C3%A9.",
  );
}

function allowedMethods(path: string): string[] {
  const methods = new Set<string>();
  for (const { method, path: pattern } of Object.values(ENDPOINTS)) {
    if (!fits(pattern, path)) continue;
    methods.add(method);
    if (method === "GET") methods.add("HEAD");
  }
  if (Object.values(OPEN_PATHS).some((pattern) => fits(pattern, path))) methods.add("GET").add("HEAD");
  return [...methods];
}

function fits(pattern: string, path: string): boolean {
  const wanted = pattern.split("/");
  const given = path.split("/");
  return wanted.length === given.length && wanted.every((part, i) => part.startsWith(":") || part === given[i]);
}
