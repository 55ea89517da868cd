/** Roles: what text-default means in a prompt, and that the marketplace works once a key is set. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createAccount } from "../../src/accounts/index.ts";
import { SEED_AUTHOR } from "../../src/marketplace-seed-store.ts";
import { seedMarketplace } from "../../src/marketplace-seed.ts";
import { loadCatalogue, type Catalogue } from "../../src/models/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { openDatabase, type Database } from "../../src/platform/database/database.ts";
import { createIdSource } from "../../src/platform/ids.ts";
import { createLog } from "../../src/platform/log.ts";
import { announceRoles, parsePromptFile, publishPrompts } from "../../src/prompts/index.ts";
import { rebindRoles } from "../../src/prompts/publishing/rebind.ts";
import { createTestDatabase, type TestDatabase } from "../support/test-database.ts";

const log = createLog("error", "stderr");
const newId = createIdSource(systemClock);

function catalogueWith(...keys: string[]): Catalogue {
  return loadCatalogue({ overlayFile: null, hasSecret: (name) => keys.includes(name), sandbox: true });
}
function withOverlay(overlay: object): Catalogue {
  const folder = mkdtempSync(join(tmpdir(), "promptd-roles-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const overlayFile = join(folder, "models.json");
  writeFileSync(overlayFile, JSON.stringify({ formatVersion: 1, ...overlay }));
  return loadCatalogue({ overlayFile, hasSecret: (name) => name === "OPENAI_API_KEY", sandbox: true });
}
const sandbox = catalogueWith();
const openai = catalogueWith("OPENAI_API_KEY");

let database: TestDatabase;
let db: Database;
beforeEach(async () => {
  database = await createTestDatabase();
  db = await openDatabase({ url: database.url, role: "test", log });
});
afterEach(async () => {
  await db.close();
  await database.drop();
});

const file = (fields: string, body = "Say {{ topic }}.") =>
  `---\npromptd: 1\ntitle: T\ndescription: D.\n${fields}\n---\n${body}\n`;

async function publish(text: string, catalogue: Catalogue): Promise<string> {
  const authorId = await createAccount(db, newId, { email: `${newId()}@example.org`, plan: "none" });
  const [published] = await publishPrompts(db, parsePromptFile(text, catalogue), { authorId, catalogue, newId });
  if (published === undefined) throw new Error("the prompt was not published");
  return published.promptId;
}

const rebind = (catalogue: Catalogue) => rebindRoles(db, { catalogue, newId });

async function versionsOf(promptId: string) {
  return db.query<{ number: number; model: string; options: unknown; latest: boolean }>(
    `select v.number, v.model, v.definition->'steps'->0->'options' as options, v.id = p.latest_version_id as latest
     from prompts p join prompt_versions v on v.prompt_id = p.id where p.id = $1 order by v.number`,
    [promptId],
  );
}

describe("a role", () => {
  test("means the best enabled model that accepts the prompt's images", () => {
    const one = (fields: string, catalogue: Catalogue) => parsePromptFile(file(fields), catalogue)[0]?.model;
    const images = "model: text-default\nimages: [{ label: A }]";
    expect(one("model: text-default", sandbox)).toBe("sandbox/text");
    expect(one("model: text-default", openai)).toBe("openai/gpt-6.1-terra");
    expect(one("model: text-default", catalogueWith("DEEPSEEK_API_KEY"))).toBe("deepseek/deepseek-flash");
    expect(one(images, catalogueWith("GROQ_API_KEY"))).toBe("sandbox/text");
    expect(one("model: image-default", catalogueWith("FAL_API_KEY"))).toBe("fal/flux-2-pro");
  });

  test("keeps the options that its model has, and tells the author its model and price range", () => {
    const [source] = parsePromptFile(file("model: image-default\noptions: { quality: high, size: 512x512 }"), openai);
    expect(source?.definition.steps[0]).toMatchObject({
      model: "openai/gpt-image-2.6-flare",
      options: { quality: "high" },
      role: { name: "image-default", options: { quality: "high", size: "512x512" } },
    });
    expect(source?.notes).toEqual([
      expect.stringMatching(
        /^image-default currently uses openai\/gpt-image-2\.6-flare: about 22 credits per run, or about \d+ to \d+ credits if the model changes\.$/,
      ),
    ]);
    expect(source?.warnings).toEqual([]);
  });

  test("is priced for each of its models with that model's output limit", () => {
    const small = {
      model: "openai/gpt-6.1-terra",
      limits: { maxOutputTokens: 100, contextTokens: 1_000, timeoutMs: 1_000, concurrency: 1 },
      price: { inputPer1k: "0", outputPer1k: "100" },
    };
    const catalogue = withOverlay({ models: [small], roles: { "text-default": ["sandbox/text", small.model] } });
    const [source] = parsePromptFile(file("model: text-default\nmaxOutputTokens: 2000"), catalogue);
    expect(source?.notes.join("\n")).toMatch(/or about \d to 10 credits if the model changes/);
  });

  test("is described with a single price if another model would not change it", () => {
    const [source] = parsePromptFile(
      file("model: text-default"),
      withOverlay({ roles: { "text-default": ["sandbox/text"] } }),
    );
    expect(source?.notes).toEqual(["text-default currently uses sandbox/text: about 1 credit per run."]);
  });

  test("can be used in the steps of a prompt too", () => {
    const steps = "model: image-default\nsteps:\n  draft: { model: text-default, maxOutputTokens: 300 }\n  paint: {}";
    const body = "<!-- step: draft -->\nInvent {{ topic }}.\n<!-- step: paint -->\nPaint {{ steps.draft }}";
    const [source] = parsePromptFile(file(steps, body), openai);
    expect(source?.definition.steps.map(({ model }) => model)).toEqual([
      "openai/gpt-6.1-terra",
      "openai/gpt-image-2.6-flare",
    ]);
  });
});

describe("when a role changes to another model", () => {
  test("its prompts get one new version, and the older version stays", async () => {
    const promptId = await publish(file("model: image-default\noptions: { quality: high, size: 512x512 }"), sandbox);
    const short = await publish(file("model: text-default\nmaxOutputTokens: 300"), sandbox);
    const fixed = await publish(file("model: sandbox/text"), sandbox);
    expect(await rebind(sandbox)).toBe(0);
    expect(await rebind(openai)).toBe(2);
    expect(await rebind(openai)).toBe(0);
    const [limit] = await db.query(
      `select v.definition->'steps'->0->'maxOutputTokens' as tokens from prompts p
       join prompt_versions v on v.id = p.latest_version_id where p.id = $1`,
      [short],
    );
    expect(limit).toEqual({ tokens: 300 });
    expect(await versionsOf(promptId)).toEqual([
      { number: 1, model: "sandbox/image", options: { quality: "high", size: "512x512" }, latest: false },
      { number: 2, model: "openai/gpt-image-2.6-flare", options: { quality: "high" }, latest: true },
    ]);
    expect(await versionsOf(fixed)).toHaveLength(1);
    expect(await rebind(sandbox)).toBe(1); // the key is gone: what the author chose counts again
    expect((await versionsOf(promptId)).at(-1)).toMatchObject({
      model: "sandbox/image",
      options: { quality: "high", size: "512x512" },
    });
  });

  test("an unpublished prompt stays unpublished", async () => {
    const promptId = await publish(file("model: text-default"), sandbox);
    await db.query("update prompts set unpublished_at = now() where id = $1", [promptId]);
    expect(await rebind(openai)).toBe(0);
    expect(await versionsOf(promptId)).toHaveLength(1);
  });

  test("because its model was retired, its prompts continue with the next one", async () => {
    const at = (time: string) => {
      const clock = { nowMs: () => Date.parse(time) };
      return loadCatalogue({
        overlayFile: ending,
        hasSecret: (name) => name === "OPENAI_API_KEY" || name === "DEEPSEEK_API_KEY",
        sandbox: true,
        clock,
      });
    };
    const ending = new URL("ending-model.json", import.meta.url).pathname;
    const promptId = await publish(file("model: text-default"), at("2027-02-28T12:00:00Z"));
    expect(await rebind(at("2027-03-01T00:00:00Z"))).toBe(1);
    const models = ["openai/gpt-6.1-terra", "deepseek/deepseek-flash"];
    expect((await versionsOf(promptId)).map(({ model }) => model)).toEqual(models);
  });
});

describe("when a role has no model left but the sandbox, whose outputs show the prompt", () => {
  test("a prompt on a real model stays on that model", async () => {
    const promptId = await publish(file("model: text-default"), openai);
    expect(await rebind(sandbox)).toBe(0);
    expect(await rebind(openai)).toBe(0);
    expect((await versionsOf(promptId)).map(({ model }) => model)).toEqual(["openai/gpt-6.1-terra"]);
  });

  test("a step on a real model stays there, while the step that makes the picture moves", async () => {
    const steps = "model: image-default\nsteps:\n  draft: { model: text-default }\n  paint: {}";
    const body = "<!-- step: draft -->\nInvent {{ topic }}.\n<!-- step: paint -->\nPaint {{ steps.draft }}";
    const promptId = await publish(file(`${steps}\ninputs: { topic: {} }`, body), openai);
    expect(await rebind(sandbox)).toBe(1);
    const [latest] = await db.query<{ models: string[] }>(
      `select array(select s->>'model' from jsonb_array_elements(v.definition::jsonb->'steps') s) as models
       from prompts p join prompt_versions v on v.id = p.latest_version_id where p.id = $1`,
      [promptId],
    );
    expect(latest?.models).toEqual(["openai/gpt-6.1-terra", "sandbox/image"]);
  });

  test("a seed prompt moves to the sandbox, since its text is public", async () => {
    const { signal } = new AbortController();
    await seedMarketplace({ db, catalogue: openai, newId, log, dataDir: "", withDemoKey: false, signal });
    const promptId = await publish(file("model: text-default"), openai);
    await rebindRoles(db, { catalogue: sandbox, newId, publicAuthor: SEED_AUTHOR });
    const onReal = await db.query<{ id: string }>(
      `select p.id from prompts p join prompt_versions v on v.id = p.latest_version_id
       where v.model not like 'sandbox/%'`,
      [],
    );
    expect(onReal).toEqual([{ id: promptId }]);
  });
});

describe("two processes whose roles list different models", () => {
  const listing = (model: string) => withOverlay({ roles: { "text-default": [model] } });

  test("do not publish against each other, since the one that started last decides", async () => {
    const [older, newer] = [listing("openai/gpt-6.1-sol"), listing("openai/gpt-6.1-terra")];
    const promptId = await publish(file("model: text-default"), sandbox);
    await announceRoles(db, older);
    await announceRoles(db, newer);
    const published = [];
    for (let turn = 0; turn < 3; turn += 1) published.push(await rebind(older), await rebind(newer));
    expect(published).toEqual([0, 1, 0, 0, 0, 0]);
    expect((await versionsOf(promptId)).at(-1)).toMatchObject({ model: "openai/gpt-6.1-terra" });
    await announceRoles(db, older); // after a roll-back
    expect([await rebind(newer), await rebind(older), await rebind(newer)]).toEqual([0, 1, 0]);
  });

  test("start without waiting for a frozen one, if their lists are the same", async () => {
    await announceRoles(db, sandbox);
    await db.tx(async (tx) => {
      await tx.query("lock table role_bindings in share row exclusive mode");
      await announceRoles(db, openai);
    });
    expect(await rebind(openai)).toBe(0);
  });
});

test("every prompt of the seeded marketplace works once a key is set", async () => {
  const { signal } = new AbortController();
  await seedMarketplace({ db, catalogue: sandbox, newId, log, dataDir: "", withDemoKey: false, signal });
  const live = () =>
    db.query<{ provider: string; n: number }>(
      `select split_part(v.model, '/', 1) as provider, count(*)::int as n from prompts p
       join prompt_versions v on v.id = p.latest_version_id group by 1 order by 1`,
      [],
    );
  const [before] = await live();
  expect(before).toMatchObject({ provider: "sandbox" });
  const videos = 6;
  expect(await rebind(openai)).toBe((before?.n ?? 0) - videos); // OpenAI has no videos
  expect(await live()).toEqual([
    { provider: "openai", n: (before?.n ?? 0) - videos },
    { provider: "sandbox", n: videos },
  ]);
  expect(await rebind(catalogueWith("OPENAI_API_KEY", "FAL_API_KEY"))).toBe(videos);
  expect((await live()).map(({ provider }) => provider)).toEqual(["fal", "openai"]);
});
