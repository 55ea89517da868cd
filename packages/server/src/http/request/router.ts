import { printable, type Auth } from "@promptd/contract";
import createFindMyWay, { type HTTPMethod } from "find-my-way";
import { badRequest, Problem } from "../../platform/problem.ts";
import { FALLBACK_PATH, type Endpoint } from "../endpoint.ts";
import { HEADER_BYTES_MAX } from "./parse-head.ts";
import { plainPath } from "./query.ts";

export interface Router {
  find(method: string, target: string): Route | null;
  /** The credential to require on a path that no endpoint matches. */
  authOfUnknown(target: string): Auth;
  /** The answer to a target that no endpoint matches. */
  unrecognized(method: string, target: string): Problem;
}

export interface Route {
  readonly endpoint: Endpoint;
  /** Percent-decoded. */
  readonly params: Readonly<Record<string, string | undefined>>;
}

/** Methods that an endpoint may have, in the order of the `Allow` header. */
const METHODS = ["POST", "GET", "HEAD", "PUT", "PATCH", "DELETE"] as const satisfies readonly HTTPMethod[];

export function createRouter(endpoints: readonly Endpoint[], prefixes: Readonly<Record<string, Auth>>): Router {
  const apis = Object.keys(prefixes);
  const stray = endpoints.find(({ name, path }) => name === null && apis.some((api) => path.startsWith(`${api}/`)));
  if (stray !== undefined)
    throw new Error(`The endpoint ${stray.path} is not in the contract, which says who may use it.`);
  const routesOf = routesByApi(endpoints);
  const find = (method: string, target: string): Route | null => {
    // HEAD is a GET without a response body.
    const found = routesOf(target).find(method === "HEAD" ? "GET" : (method as HTTPMethod), target);
    const endpoint = (found?.store ?? null) as Endpoint | null;
    if (found === null || endpoint === null) return null;
    if (endpoint.path === FALLBACK_PATH && isOfApi(target)) return null;
    return { endpoint, params: found.params };
  };
  return {
    find,
    authOfUnknown(target) {
      const path = `${decodePath(target) ?? plainPath(target)}/`;
      return Object.entries(prefixes).find(([prefix]) => path.startsWith(`${prefix}/`))?.[1] ?? "none";
    },
    unrecognized(method, target) {
      if (decodePath(target) === null) {
        return badRequest(
          "The path is not valid percent-encoded UTF-8. Encode the bytes of each character, as in caf%C3%A9.",
        );
      }
      const allowed = METHODS.filter((other) => find(other, target) !== null);
      // Also 404 for a wrong method, because the specification has no 405; `Allow` shows the difference.
      const headers = allowed.length === 0 ? {} : { allow: [...allowed, "OPTIONS"].join(", ") };
      const path = printable(plainPath(target), 200);
      return new Problem("NOT_FOUND_ERROR", `Unrecognized request: ${method} ${path}.`, { headers });
    },
  };
}

/** The endpoints of one API. */
type Routes = ReturnType<typeof createFindMyWay>;

/**
 * Returns the routes of the API that a target begins with, built when first needed: building the routes of all APIs
 * would add 10 ms to startup.
 */
function routesByApi(endpoints: readonly Endpoint[]): (target: string) => Routes {
  const byApi = Map.groupBy(endpoints, ({ path }) => firstSegment(path));
  const anywhere = firstSegment(FALLBACK_PATH);
  const built = new Map<string, Routes>();
  const build = (segment: string): Routes => {
    const api = [segment, decodePath(segment)].find((name) => name !== null && byApi.has(name)) ?? anywhere;
    const routes =
      built.get(api) ?? buildRoutes([...new Set([api, anywhere])].flatMap((name) => byApi.get(name) ?? []));
    built.set(api, routes);
    return routes;
  };
  return (target) => {
    const segment = firstSegment(target);
    return built.get(segment) ?? build(segment);
  };
}

function firstSegment(path: string): string {
  return /^\/*([^/?#]*)/.exec(path)?.[1] ?? "";
}

/** Accepts repeated and trailing slashes: a redirect would lose the body or the key. */
function buildRoutes(endpoints: readonly Endpoint[]): Routes {
  const routes = createFindMyWay({
    ignoreTrailingSlash: true,
    ignoreDuplicateSlashes: true,
    // Longer than any request line, so that the endpoint answers a long parameter with a 422.
    maxParamLength: 2 * HEADER_BYTES_MAX,
    querystringParser: () => ({}),
  });
  for (const endpoint of endpoints) {
    routes.on([endpoint.method].flat() as HTTPMethod[], endpoint.path, () => {}, endpoint);
  }
  return routes;
}

const API_PATH = /^\/+(v\d+|manage|files|mcp|oauth|\.well-known)(\/|$)/;

/** An API answers in its envelope, also on paths that it does not have. */
function isOfApi(target: string): boolean {
  return API_PATH.test(decodePath(target) ?? plainPath(target));
}

/**
 * Whether pages of other origins may call it. Only the console's own pages call the management API, and a page that
 * somebody opens must not read a server in their network.
 */
export function isOpenToPages(target: string): boolean {
  return !/^\/manage(\/|$)/.test(decodePath(target) ?? plainPath(target));
}

/** Decodes the path, because percent-encoding must not bypass authentication. Null: the path is not valid. */
function decodePath(target: string): string | null {
  try {
    return decodeURIComponent(plainPath(target));
  } catch {
    return null; // not valid
  }
}
