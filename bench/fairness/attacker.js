/** `attacker.js URL KEY FILE RATE`: posts the file RATE times per second until SIGTERM, then waits for open requests. */
import { readFileSync } from "node:fs";

const [url, key, file, rate] = process.argv.slice(2);
const body = readFileSync(file);
const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
const open = new Set();

async function post() {
  const answer = await fetch(url, { method: "POST", headers, body });
  await answer.arrayBuffer();
}

const timer = setInterval(
  () => {
    const one = post()
      .catch(() => {}) // expected for an attacker: rejected, or the server stopped reading
      .finally(() => open.delete(one));
    open.add(one);
  },
  1_000 / Number(rate),
);

process.on("SIGTERM", () => {
  clearInterval(timer);
  void Promise.all(open).finally(() => process.exit());
});
