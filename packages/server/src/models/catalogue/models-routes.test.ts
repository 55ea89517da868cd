import { describe, expect, test } from "vitest";
import type { RequestContext } from "../../http/endpoint.ts";
import { loadCatalogue } from "./catalogue.ts";
import { modelsRoutes } from "./models-routes.ts";

const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => false, sandbox: true });
const { hash } = catalogue.resources();

function get(ifNoneMatch: string | null) {
  const context: RequestContext = {
    caller: { accountId: "", keyId: "" },
    address: "",
    requestId: "",
    arrivedAtMs: 0,
    header: (name) => (name === "if-none-match" ? ifNoneMatch : null),
    ignore: () => {},
    nameRun: () => {},
    releaseBody: () => {},
    onGone: () => {},
  };
  return modelsRoutes(catalogue).getResources({ params: {}, query: {}, body: undefined }, context);
}

describe("GET /v1/resources", () => {
  test("returns the list with its hash as ETag, to be revalidated each time", async () => {
    const answer = await get(null);
    expect(answer.status).toBe(200);
    expect(answer.headers).toEqual({ etag: `"${hash}"`, "cache-control": "private, no-cache" });
    expect(answer.data.hash).toBe(hash);
    expect(answer.data.resources.models.map(({ model }) => model)).toContain("sandbox/text");
  });

  test.each([`"${hash}"`, `W/"${hash}"`, `"old", "${hash}"`, "*"])(
    "returns 304 for If-None-Match: %s",
    async (value) => {
      expect((await get(value)).status).toBe(304);
    },
  );

  test.each(['"old"', hash, '"'])("answers 200 to If-None-Match: %s", async (value) => {
    expect((await get(value)).status).toBe(200);
  });
});
