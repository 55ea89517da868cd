/**
 * What is actually sent, for every catalogue model and every option value, recorded in golden files: a change in the
 * catalogue or an SDK package shows as a readable difference in JSON.
 */
import { expect, test } from "vitest";
import type { CatalogueEntry } from "../../src/models/catalogue/catalogue.ts";
import type { ModelCall } from "../../src/models/ai-sdk/model-adapter.ts";
import { callOf, catalogue, createRig, IMAGE, isJob } from "./adapter-rig.ts";
import { ELSEWHERE } from "./all-providers.ts";
import { captureTransport, type Captured } from "./capture.ts";

/** The default, each value of each option, and input images if the model accepts them. */
function callsOf(entry: CatalogueEntry): { name: string; call: ModelCall }[] {
  const takes = entry.inputs?.images?.max ?? 0;
  // Image-to-video and editing models are only ever called with an image.
  const base = entry.modality === "text" || takes === 0 ? [] : [IMAGE];
  const chosen = Object.entries(entry.runOptions).flatMap(([key, option]) =>
    Object.keys(option.values).map((value) => ({
      name: `${key}=${value}`,
      call: callOf(entry, { images: base }, { [key]: value }),
    })),
  );
  const images = Array.from({ length: Math.min(takes, 2) }, () => IMAGE);
  return [
    { name: "defaults", call: callOf(entry) },
    ...chosen,
    ...(takes === 0 ? [] : [{ name: `${images.length} input images`, call: callOf(entry, { images }) }]),
  ];
}

/** Models that are called in the same way, by the name of their golden file. */
interface Group {
  readonly name: string;
  readonly entries: readonly CatalogueEntry[];
  readonly settings: Readonly<Record<string, string>>;
}

const living = catalogue.entries.filter((entry) => entry.status !== "retired");
const entriesOf = (provider: string) => living.filter((entry) => entry.provider === provider);
const openaiTexts = entriesOf("openai").filter((entry) => entry.modality === "text");
const GROUPS: readonly Group[] = [
  ...[...new Set(living.map((entry) => entry.provider))]
    .filter((provider) => provider !== "sandbox")
    .map((provider): Group => ({ name: provider, entries: entriesOf(provider), settings: {} })),
  { name: "openai-elsewhere", entries: openaiTexts, settings: { OPENAI_BASE_URL: ELSEWHERE } },
];

async function capture(entry: CatalogueEntry, settings: Group["settings"]): Promise<Record<string, Captured[]>> {
  const shown: Record<string, Captured[]> = {};
  for (const { name, call } of callsOf(entry)) {
    const captured: Captured[] = [];
    const rig = createRig({ ...settings }, { connect: () => captureTransport(captured) });
    const { adapter, warned, downloads, signal } = rig;
    const result = isJob(entry) ? await adapter.startJob(call, signal) : await adapter.callModel(call, signal);
    expect({ name, kind: result.kind }).toEqual({ name, kind: isJob(entry) ? "started" : entry.modality });
    expect(warned, `${entry.model}, ${name}: the SDK changed or dropped a setting`).not.toHaveBeenCalled();
    expect(downloads).toEqual([]);
    shown[name] = captured;
  }
  return shown;
}

test.each(GROUPS)("every model and option of $name goes out as its golden file says", async (group) => {
  const golden: Record<string, Record<string, Captured[]>> = {};
  for (const entry of group.entries) golden[entry.model] = await capture(entry, group.settings);
  await expect(`${JSON.stringify(golden, null, 1)}\n`).toMatchFileSnapshot(`./golden/${group.name}.json`);
});

const ENTRIES = GROUPS.flatMap(({ name, entries, settings }) =>
  entries.map((entry) => ({ group: name, model: entry.model, entry, settings })),
);

test.each(ENTRIES)(
  "$model in $group is sent bytes and never an address, once, with an output limit",
  async ({ entry, settings }) => {
    const golden = await capture(entry, settings);
    for (const requests of Object.values(golden)) expect(requests).toHaveLength(1);
    const bodies = Object.values(golden).flatMap((requests) => requests.map(({ body }) => JSON.stringify(body)));
    const isText = entry.modality === "text";
    const bound = /"(max_tokens|max_completion_tokens|max_output_tokens|maxOutputTokens)":\d+/;
    expect(bodies.filter((body) => /https?:/.test(body))).toEqual([]);
    expect(bodies.filter((body) => isText && !bound.test(body))).toEqual([]);
    const mayBeStored = (body: string): boolean =>
      isText && entry.provider === "openai" && !body.includes('"store":false');
    expect(bodies.filter(mayBeStored)).toEqual([]);
  },
);
