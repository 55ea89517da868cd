import { defineConfig } from "vitest/config";

export default defineConfig({
  // The `source` condition leads from package to package to the TypeScript sources; without it a stale dist is loaded.
  resolve: { conditions: ["source"] },
  ssr: { resolve: { conditions: ["source"], externalConditions: ["source"] } },
  test: {
    include: ["packages/**/*.test.ts"],
    globalSetup: ["packages/server/test/database-server.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
