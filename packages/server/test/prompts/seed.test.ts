import { readdir, readFile } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { buildCatalogue, readRecords, readSamples, readSelection } from "../../../../scripts/build-seed.ts";
import { convertRecord, escapeLiquid, type SourceRecord } from "../../../../scripts/seed-conversion.ts";
import { loadCatalogue } from "../../src/models/index.ts";
import { parsePromptFile, renderStep, type PromptSource } from "../../src/prompts/index.ts";

const SEED = new URL("../../seed/", import.meta.url);
const catalogue = loadCatalogue({ overlayFile: null, hasSecret: () => false, sandbox: true });

const BRITISH =
  /\b(?:\w*colour|grey|favourit|humour|harbour|neighbour|flavour|honour|behaviour|centr(?:e|ing)|\w*metre|fibre|jeweller|licence|travelled|(?:apolog|emphas|optim|organ|oxid|real|recogn|summar|visual)is(?:e|ing|ation))\w*/giu;

async function readSeed(name: string): Promise<string> {
  return readFile(new URL(name, SEED), "utf8");
}

let ownFiles: string[];
let own: PromptSource[];
let chosen: PromptSource[];
beforeAll(async () => {
  ownFiles = (await readdir(new URL("prompts/", SEED))).sort();
  const texts = await Promise.all(ownFiles.map((name) => readSeed(`prompts/${name}`)));
  own = texts.flatMap((text) => parsePromptFile(text, catalogue));
  chosen = parsePromptFile(await readSeed("catalogue.json"), catalogue);
});

describe("the seed", () => {
  test("has at least 300 selected prompts that publish without faults", () => {
    expect(chosen.length).toBeGreaterThanOrEqual(300);
    expect(chosen.filter((source) => source.conversions.length > 0)).toEqual([]);
  });

  test("has at least 60 prompts of its own that publish without faults, in files named after their slugs", () => {
    expect(own.length).toBeGreaterThanOrEqual(60);
    expect(own.map(({ slug }) => `${slug}.prompt.md`)).toEqual(ownFiles);
  });

  test("shows an example input for every prompt with text inputs", () => {
    for (const { slug, definition, samples } of [...chosen, ...own]) {
      const taken = definition.inputs.filter((input) => input.default === null).map(({ key }) => key);
      const shown = Object.keys(samples.inputs.textInputs);
      expect({ slug, missing: taken.filter((key) => !shown.includes(key)) }).toEqual({ slug, missing: [] });
      expect({ slug, isShown: shown.length > 0 }).toEqual({ slug, isShown: definition.inputs.length > 0 });
    }
  });

  test("has every slug once", () => {
    const slugs = [...chosen, ...own].map((source) => source.slug);
    expect(slugs.filter((slug, index) => slugs.indexOf(slug) !== index)).toEqual([]);
  });

  test("describes every prompt in one sentence, and runs without a key", () => {
    for (const source of [...chosen, ...own]) {
      expect(source.description, source.slug).toMatch(/^\p{Lu}.{20,}[.!?]$/su);
      for (const step of source.definition.steps) {
        expect(step.model, source.slug).toMatch(/^sandbox\//);
        expect(step.role, source.slug).toBeDefined();
      }
      expect(source.tags.length, source.slug).toBeGreaterThan(0);
    }
  });

  test("is in American English where it was written for this project", async () => {
    const files = await Promise.all(ownFiles.map((name) => readSeed(`prompts/${name}`)));
    // The templates of the selected prompts are unchanged.
    const about = chosen.map(({ slug, title, description, tags }) => [slug, title, description, ...tags].join("\n"));
    const found = [...ownFiles, ...files, ...about].flatMap((text) => text.match(BRITISH) ?? []);
    expect(found).toEqual([]);
  });

  test("shows what prompts can do: one photo, several images, steps, video, choices, and variants", () => {
    const count = (fits: (source: PromptSource) => boolean): number => own.filter(fits).length;
    expect(count((source) => source.modality === "image" && source.definition.images.length === 1)).toBeGreaterThan(40);
    expect(count((source) => source.definition.images.length > 1)).toBeGreaterThan(5);
    expect(count((source) => source.definition.steps.length > 1)).toBeGreaterThan(5);
    expect(count((source) => source.modality === "video")).toBeGreaterThanOrEqual(4);
    expect(count((source) => source.definition.inputs.some((input) => input.multiple !== null))).toBeGreaterThan(5);
    expect(count((source) => source.definition.steps.some((step) => step.count > 1))).toBeGreaterThan(5);
  });

  test("has no line that controls the sandbox", () => {
    for (const source of [...chosen, ...own])
      for (const step of source.definition.steps)
        expect(`${step.instructions}\n${step.template}`, source.slug).not.toMatch(/^\s*sandbox:/mu);
  });
});

describe("the selected prompts", () => {
  test("are exactly what the selection and the source records produce, byte for byte", async () => {
    const built = buildCatalogue(await readSelection(), await readRecords(), await readSamples());
    expect(built).toBe(await readSeed("catalogue.json"));
  });

  test("come from collections whose license is in LICENSES.md, with the MIT text", async () => {
    const licenses = await readSeed("LICENSES.md");
    for (const source of new Set((await readRecords()).map((record) => record.source)))
      expect(licenses).toMatch(
        new RegExp(`^\\| ${source.replaceAll(".", "\\.")} \\|.*\\| (?:CC0 1\\.0|MIT, Copyright) `, "mu"),
      );
    expect(licenses).toContain("Permission is hereby granted, free of charge");
    expect(licenses).toContain('THE SOFTWARE IS PROVIDED "AS IS"');
  });

  test("have at most 12,000 characters each in their source", async () => {
    const tooLong = (await readRecords()).filter((record) => record.text.length > 12_000);
    expect(tooLong.map((record) => record.title)).toEqual([]);
  });
});

describe("the conversion", () => {
  const record: SourceRecord = {
    id: "7f1b2b1e-6a5c-5b8e-9c1d-2f3a4b5c6d7e",
    source: "prompts.chat",
    title: "Any title",
    description: "Says what it is good for.",
    tags: ["one", "the"],
    modality: "text",
    variables: [{ name: "topic" }, { name: "Mother Language", default: "Turkish" }],
    text: "",
  };

  test("a listed variable becomes an input, and similar-looking code stays text", () => {
    const text = "About ${topic} in ${Mother Language:Turkish}: `${response.status}` and {{ left }}.";
    const prompt = convertRecord({ ...record, text }, { id: record.id });
    expect(prompt.template).toBe(
      'About {{ topic }} in {{ input["Mother Language"] }}: `${response.status}` and {% raw %}{{{% endraw %} left }}.',
    );
    expect(prompt.inputs).toEqual({
      topic: { label: "Topic" },
      "Mother Language": { label: "Mother Language", default: "Turkish" },
    });
    expect(prompt.tags).toEqual(["one"]);
  });

  test("the example request of a chat prompt becomes the description of the caller's input", () => {
    const text = 'I want you to act as a poet. My first request is "a poem about love".';
    const ask = { key: "theme", label: "Theme" };
    const prompt = convertRecord({ ...record, text }, { id: record.id, ask });
    expect(prompt.instructions).toBe("I want you to act as a poet.");
    expect(prompt.template).toBe("{{ theme }}");
    expect(prompt.inputs).toEqual({ theme: { label: "Theme", description: "For example: a poem about love" } });
  });

  test("a required line of a useful-ai-prompts record becomes a named input with its comment", () => {
    const text =
      "<input_handling>\nRequired:\n- Copy needed (ad, page): determines length\n</input_handling>\n```\n\n---";
    const variables = [{ name: "Copy needed" }];
    const prompt = convertRecord({ ...record, source: "useful-ai-prompts", variables, text }, { id: record.id });
    expect(prompt.template).toBe('Copy needed: {{ input["Copy needed"] }}');
    expect(prompt.inputs).toEqual({ "Copy needed": { label: "Copy needed", description: "Ad, page" } });
    expect(prompt.instructions).toMatch(/<\/input_handling>$/u);
  });

  test("an edit that no longer matches the source stops the build", () => {
    const edits = [["absent", "present"]] as const;
    expect(() => convertRecord({ ...record, text: "text" }, { id: record.id, edits })).toThrow("was not found");
  });

  test("escaped text renders as itself, whatever braces it has", () => {
    const texts = [
      "{{ a }}",
      "{% if %}",
      "{{{x}}}",
      "{",
      "a { b",
      "{%- raw -%}",
      "{{%",
      "{% raw %}{% endraw %}",
      "}}{{",
    ];
    for (const text of texts) {
      const file = JSON.stringify({
        promptd: 1,
        prompts: [{ title: "T", model: "sandbox/text", template: `${escapeLiquid(text)}{{ x }}` }],
      });
      const [source] = parsePromptFile(file, catalogue);
      expect(source === undefined ? null : renderStep(source, 0, { x: "!" }, {}).prompt, text).toBe(`${text}!`);
    }
  });
});
