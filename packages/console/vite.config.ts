import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { appendFileSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const DOCS = join(import.meta.dirname, "../../docs");
/** The server behind `npm run dev`. */
const SERVER = process.env["PROMPTD_DEV_SERVER"] ?? "http://127.0.0.1:8787";

/** Compresses files once, at build time. The server sends them as they are. */
function brotli(): Plugin {
  let dist = "";
  return {
    name: "brotli",
    apply: "build",
    configResolved({ build }) {
      dist = build.outDir;
    },
    closeBundle() {
      for (const name of globSync("**/*.{js,css,html,svg,md,txt}", { cwd: dist })) {
        const bytes = readFileSync(join(dist, name));
        const small = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } });
        if (small.length < bytes.length) writeFileSync(join(dist, `${name}.br`), small);
      }
    },
  };
}

/** Publishes the guides as Markdown, with a list, for AI tools. */
function guidesForPrograms(): Plugin {
  return {
    name: "guides-for-programs",
    apply: "build",
    generateBundle() {
      const names = globSync("*.md", { cwd: DOCS }).sort();
      const lines = names.map((name) => {
        const source = readFileSync(join(DOCS, name), "utf8");
        this.emitFile({ type: "asset", fileName: `docs/${name}`, source });
        const [title = name] = /(?<=^# ).+/m.exec(source) ?? [];
        return `- [${title}](/docs/${name})`;
      });
      const head =
        "# promptd\n\n> A self-hosted service that runs published prompts over HTTP. Its guides, as Markdown:\n";
      const reference = "- [OpenAPI of /v1](/openapi.json)\n- [OpenAPI of /manage/v1](/manage/openapi.json)";
      this.emitFile({ type: "asset", fileName: "llms.txt", source: `${[head, ...lines, reference].join("\n")}\n` });
    },
  };
}

/** Vite lists the packages whose scripts are in the build. Font licenses must accompany the font files too. */
const LICENSES = "licenses.md";
const FONTS = ["@fontsource-variable/inter", "@fontsource-variable/jetbrains-mono"];
function licensesOfFonts(): Plugin {
  return {
    name: "licenses-of-fonts",
    apply: "build",
    writeBundle({ dir = "" }) {
      for (const name of FONTS) {
        const text = readFileSync(fileURLToPath(import.meta.resolve(`${name}/LICENSE`)), "utf8");
        appendFileSync(join(dir, LICENSES), `\n## ${name} (OFL-1.1)\n\n${text.trim()}\n`);
      }
    },
  };
}

/** Rewrites the origin of requests, because the server rejects writes from pages of another origin. */
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
  plugins: [react(), tailwind(), guidesForPrograms(), licensesOfFonts(), brotli()],
  resolve: { conditions: ["promptd-source", "module", "browser", "development|production"] },
  build: {
    outDir: join(import.meta.dirname, "dist"), // `npm run build:console` passes another directory and moves the result
    emptyOutDir: true,
    license: { fileName: LICENSES },
    manifest: true, // records which files each page loads, for the weight check
    target: "es2023",
    assetsInlineLimit: 0, // the content security policy allows no data: URLs
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 600,
  },
  server: { host: "127.0.0.1", proxy: { "/v1": proxied, "/manage": proxied, "/files": proxied } },
});
