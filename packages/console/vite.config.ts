import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { appendFileSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

const DOCS = join(import.meta.dirname, "../../docs");
/** The server that `npm run dev` shows the pages of. */
const SERVER = process.env["PROMPTD_DEV_SERVER"] ?? "http://127.0.0.1:8787";

/** Compresses once, at the build: the server sends what it finds. */
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

/** The guides as they are, and a list of them, for programs that read. */
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

/** Vite lists the packages whose scripts are in the build; the license of a font asks for its text beside the files as well. */
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
  plugins: [react(), tailwind(), guidesForPrograms(), licensesOfFonts(), brotli()],
  resolve: { conditions: ["promptd-source", "module", "browser", "development|production"] },
  build: {
    outDir: join(import.meta.dirname, "dist"), // `npm run build:console` names another, and moves it there
    emptyOutDir: true,
    license: { fileName: LICENSES },
    manifest: true, // which files a page loads, for the check of their weight
    target: "es2023",
    assetsInlineLimit: 0, // the policy of the pages takes no data: address
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 600,
  },
  server: { host: "127.0.0.1", proxy: { "/v1": proxied, "/manage": proxied, "/files": proxied } },
});
