/**
 * A process that makes vectors for documents and switches search to a model, until it is killed. It prints one line per
 * tick. Arguments: the database's URL, the address of the embeddings model, its name.
 */
import { openDatabase } from "../../src/platform/database/database.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createLog } from "../../src/platform/log.ts";
import { createSearch } from "../../src/search/index.ts";

const [, , url = "", address = "", model = ""] = process.argv;
const log = createLog("silent");
const db = await openDatabase({ url, role: "test", log });
const search = createSearch({
  db,
  log,
  clock: systemClock,
  embeddings: {
    model,
    embedTexts: async (texts, signal) => {
      const response = await fetch(address, { method: "POST", body: JSON.stringify(texts), signal });
      return ((await response.json()) as number[][]).map((vector) => Float32Array.from(vector));
    },
  },
});
const ticks = search.ticks.filter(({ name }) => name.startsWith("search-embed"));
for (;;) {
  for (const tick of ticks) await tick.run();
  process.stdout.write("turn\n");
}
