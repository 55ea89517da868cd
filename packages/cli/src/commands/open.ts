import { ID_FORM } from "@promptd/contract";
import { CommandFailure, type Command } from "../command.ts";
import { readConnection } from "../user-config.ts";

const PAGES: Readonly<Record<string, string>> = {
  marketplace: "/",
  runs: "/runs",
  keys: "/keys",
  credits: "/credits",
  settings: "/settings",
  author: "/author",
  docs: "/docs",
  operator: "/operator",
};

export const open: Command = {
  summary: "Open the console in the browser: a page, a prompt by slug, or a run by id",
  usage: "[page|slug|runId]",
  details: `Pages: ${Object.keys(PAGES).join(", ")}. The default is the marketplace. Without a browser, the address is printed.`,
  session: `$ promptd open cat-poem
https://promptd.example.org/p/cat-poem`,
  options: { "print-only": { type: "boolean", summary: "only print the address" } },
  async run(args, io) {
    const { url } = await readConnection(io.env);
    const address = url.replace(/\/+$/, "") + pathOf(args.positionals[0] ?? "marketplace");
    const isOpen = !args.flag("print-only") && io.terminal.isOut && (await io.openBrowser(address));
    io.result({ url: address, opened: isOpen }, address);
  },
};

function pathOf(name: string): string {
  const page = Object.hasOwn(PAGES, name) ? PAGES[name] : undefined;
  if (page !== undefined) return page;
  if (ID_FORM.test(name)) return `/runs/${name}`;
  if (/^[a-z0-9-]{1,200}$/.test(name)) return `/p/${name}`;
  throw new CommandFailure(`"${name}" is not a page, a slug, or a run id.`, {
    hint: `Pages: ${Object.keys(PAGES).join(", ")}`,
  });
}
