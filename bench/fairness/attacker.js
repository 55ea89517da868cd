/** `attacker.js URL KEY FILE RATE`: posts the file so many times a second until SIGTERM, then waits for what is open. */
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
      .catch(() => {}) // refused, or the server stopped reading: what an attacker meets
      .finally(() => open.delete(one));
    open.add(one);
  },
  1_000 / Number(rate),
);

process.on("SIGTERM", () => {
  clearInterval(timer);
  void Promise.all(open).finally(() => process.exit());
});
