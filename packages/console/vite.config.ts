import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const DIST = join(import.meta.dirname, "dist");
/** The server that `npm run dev` shows the pages of. */
const SERVER = process.env["PROMPTD_DEV_SERVER"] ?? "http://127.0.0.1:8787";

/** Compresses once, at the build: the server sends what it finds. */
function brotli(): Plugin {
  return {
    name: "brotli",
    apply: "build",
    closeBundle() {
      for (const name of globSync("**/*.{js,css,html,svg}", { cwd: DIST })) {
        const bytes = readFileSync(join(DIST, name));
        const small = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } });
        if (small.length < bytes.length) writeFileSync(join(DIST, `${name}.br`), small);
      }
    },
  };
}

/** Writes go to the server as if its own page had sent them: it takes none from a page of another origin. */
const proxied = {
  target: SERVER,
  changeOrigin: true,
  configure: (proxy: { on(event: "proxyReq", listener: (request: HeaderSetter) => void): unknown }) =>
    void proxy.on("proxyReq", (request) => request.setHeader("origin", SERVER)),
};
interface HeaderSetter {
  setHeader(name: string, value: string): unknown;
}

export default defineConfig({
  plugins: [react(), tailwind(), brotli()],
  resolve: { conditions: ["promptd-source", "module", "browser", "development|production"] },
  build: {
    outDir: DIST,
    emptyOutDir: true,
    manifest: true, // which files a page loads, for the check of their weight
    target: "es2023",
    assetsInlineLimit: 0, // the policy of the pages takes no data: address
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 600,
  },
  server: { host: "127.0.0.1", proxy: { "/v1": proxied, "/manage": proxied, "/files": proxied } },
});
