/** Requests generated from the service's own OpenAPI document, most of them broken in one or more ways. */
import type { SeededRandom } from "../../../../bench/chaos/random.ts";

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}
interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: unknown;
}

/** Things that exist, so that some of the requests pass the first check. */
export interface Real {
  readonly apiKey: string;
  readonly ids: readonly string[];
  readonly promptVersionId: string;
}

export interface FuzzRequest {
  readonly method: string;
  readonly bytes: Buffer;
  /** What was broken, to find the culprit. */
  readonly label: string;
}

const ODD_TEXTS = [
  "",
  " ",
  "%00",
  "%ff",
  "%",
  "%zz",
  "%2e%2e%2f",
  "..;",
  "null",
  "undefined",
  "NaN",
  "-1",
  "0x10",
  "1e1",
  "1e400",
  "９",
  "é",
  "e\u0301",
  "\u202Ea",
  "\uFEFF",
  "'; drop table runs; --",
  "<script>",
  "{{ 7*7 }}",
  "${7*7}",
  "a".repeat(2_000),
  "00000000-0000-0000-0000-000000000000",
  "ffffffff-ffff-ffff-ffff-ffffffffffff",
  "9".repeat(400),
  "true",
  "[]",
  "a,b",
];
const ODD_JSON = [
  "null",
  "true",
  "0",
  "-0",
  "1e400",
  "-1e-400",
  "[]",
  "{}",
  '""',
  '"\\u0000"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\uffff"',
  "9".repeat(100_000),
  `"${"a".repeat(200_000)}"`,
  "[".repeat(40) + "]".repeat(40),
  "[".repeat(20_000),
  '{"a":'.repeat(500),
  '{"__proto__":{"polluted":1}}',
  '{"constructor":{"prototype":{"polluted":1}}}',
  '{"\\u005f_proto__":1}',
  '{"a":1,"a":2}',
  "NaN",
  "'a'",
  "{a:1}",
  "[1,]",
  "01",
  "+1",
  '"\t"',
  "\uFEFF{}",
  "/**/1",
  "12345678901234567890.12345",
  '"\\x41"',
];
const METHODS = ["GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "BREW", "get", "CONNECT"];

export function createRequest(api: OpenApi, real: Real, random: SeededRandom): FuzzRequest {
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  const chance = (share: number) => random() < share;
  const labels: string[] = [];
  const note = <Value>(label: string, value: Value): Value => {
    labels.push(label);
    return value;
  };
  const [path, operations] = pick(Object.entries(api.paths));
  const [verb, operation] = pick(Object.entries(operations));
  const method = chance(0.06) ? note("method", pick(METHODS)) : verb.toUpperCase();

  const oddText = () => {
    const text = pick(ODD_TEXTS);
    return /^[\u0021-\u007e]*$/.test(text) ? text : encodeURIComponent(text);
  };
  const filled = path.replace(/\{[^}]+\}/g, () => (chance(0.5) ? pick(real.ids) : note("path", oddText())));
  const names = (operation.parameters ?? []).filter((one) => one.in === "query").map((one) => one.name);
  const query: string[] = [];
  for (const name of names) {
    if (chance(0.4)) query.push(`${name}=${chance(0.3) ? pick(real.ids) : note(`query ${name}`, oddText())}`);
    if (chance(0.05)) query.push(note("duplicate", `${name}=1&${name}=2`));
    if (chance(0.03)) query.push(note("encoded name", `${encodeURIComponent(`${name}[]`)}=1`));
  }
  if (chance(0.05)) query.push(note("junk query", `${oddText()}&&=&${oddText()}=%`));
  const target = `${filled}${query.length === 0 ? "" : `?${query.join("&")}`}`;

  const body =
    operation.requestBody === undefined && !chance(0.05)
      ? null
      : breakBody(bodyOf(real, pick, random), { pick, chance, note });
  const headers = headersOf({ real, body, pick, chance, note });
  const version = chance(0.01) ? note("version", pick(["HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/1.1 x"])) : "HTTP/1.1";
  const head = `${method} ${target === "" ? "/" : target} ${version}\r\n${headers.join("\r\n")}\r\n\r\n`;
  const bytes = Buffer.concat([Buffer.from(head, "latin1"), body ?? Buffer.alloc(0)]);
  return { method, bytes, label: `${method} ${path}: ${labels.join(", ") || "sound"}` };
}

type Pick = <Item>(items: readonly Item[]) => Item;
interface Dice {
  readonly pick: Pick;
  readonly chance: (share: number) => boolean;
  readonly note: <Value>(label: string, value: Value) => Value;
}

function bodyOf(real: Real, pick: Pick, random: SeededRandom): string {
  const asks = [
    "hello",
    "sandbox: error=400\nx",
    "sandbox: refuse\nx",
    "sandbox: dirty\nx",
    "sandbox: nonsense\nx",
    `${random()}`,
  ];
  return JSON.stringify({
    promptVersionId: random() < 0.8 ? real.promptVersionId : pick(real.ids),
    inputs: { textInputs: { ask: pick(asks) }, imageInputs: [] },
    runOptions: {},
  });
}

/** Replaces a value or a name in the JSON text, cuts it off, or inserts bytes that are not UTF-8. */
function breakBody(text: string, { pick, chance, note }: Dice): Buffer {
  let broken = text;
  if (chance(0.5)) {
    const values = [...text.matchAll(/:("[^"]*"|\[[^\]]*\]|\{[^{}]*\})/g)];
    const value = values.length === 0 ? undefined : pick(values);
    const odd = note("json", pick(ODD_JSON));
    broken =
      value === undefined ? odd : `${text.slice(0, value.index + 1)}${odd}${text.slice(value.index + value[0].length)}`;
  }
  if (chance(0.05)) broken = note("name", broken.replace(/"(ask|inputs|runOptions)"/, '"__proto__"'));
  if (chance(0.04)) broken = note("cut", broken.slice(0, Math.floor(broken.length / 2)));
  if (chance(0.03)) return note("utf-8", Buffer.concat([Buffer.from(broken), Buffer.from([0xc3, 0x28, 0xff])]));
  if (chance(0.02)) return note("utf-16", Buffer.from(broken, "utf16le"));
  return Buffer.from(broken);
}

function headersOf({
  real,
  body,
  pick,
  chance,
  note,
}: Dice & { readonly real: Real; readonly body: Buffer | null }): string[] {
  const odd = () =>
    pick(ODD_TEXTS)
      .replaceAll(/[^\u0020-\u007e]/g, "?")
      .slice(0, 1_500);
  const headers = [chance(0.02) ? note("no host", "X-Nothing: 1") : "Host: fuzz.example", "Connection: close"];
  const authorization = chance(0.9)
    ? `Bearer ${real.apiKey}`
    : note("authorization", pick([odd(), `Basic ${odd()}`, `Bearer ${odd()}`]));
  if (!chance(0.03)) headers.push(`Authorization: ${authorization}`);
  if (chance(0.02)) headers.push(note("two keys", `Authorization: Bearer ${real.apiKey}`));
  if (chance(0.5)) headers.push("Prefer: respond-async");
  if (chance(0.1))
    headers.push(note("prefer", `Prefer: ${pick(["wait=0", "wait=-1", "wait=99999999999", "wait", odd()])}`));
  if (chance(0.15)) headers.push(note("key", `Idempotency-Key: ${pick(["k", odd(), "a".repeat(256)])}`));
  if (chance(0.05)) headers.push(note("match", `If-None-Match: ${odd()}`), `cli-agent: resources_hash=${odd()}`);
  if (chance(0.02)) headers.push(note("expect", `Expect: ${pick(["100-continue", "x"])}`));
  if (chance(0.02))
    headers.push(
      ...note(
        "many headers",
        Array.from({ length: pick([300, 3_000]) }, (_, i) => `X-${i}: 1`),
      ),
    );
  if (chance(0.02)) headers.push(note("long header", `X-Long: ${"a".repeat(20_000)}`));
  if (chance(0.01)) headers.push(note("folded", "X-Folded: a\r\n b"));
  if (chance(0.01)) headers.push(note("bad header", pick(["No colon", ": no name", "X Space: 1", "X-Nul: \u0000"])));
  if (body === null) return headers;
  headers.push(
    chance(0.9)
      ? "Content-Type: application/json"
      : note("type", `Content-Type: ${pick(["text/plain", odd(), "multipart/form-data"])}`),
  );
  if (chance(0.02)) headers.push(note("encoding", "Content-Encoding: gzip"));
  const lengths = chance(0.03)
    ? note(
        "length",
        pick([
          ["Content-Length: -1"],
          ["Content-Length: 5", "Content-Length: 6"],
          ["Content-Length: 1e3"],
          ["Transfer-Encoding: chunked", `Content-Length: ${body.length}`],
          ["Transfer-Encoding: nonsense"],
        ]),
      )
    : [`Content-Length: ${body.length}`];
  return [...headers, ...lengths];
}
