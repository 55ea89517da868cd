/** The prompt that promptd and its peers run: one step, two inputs. Its model is the mock, whose answers cost credits. */
import { join } from "node:path";
import { createAccount } from "../../packages/server/src/accounts/index.ts";
import { loadCatalogue } from "../../packages/server/src/models/index.ts";
import { systemClock } from "../../packages/server/src/platform/clock.ts";
import { createIdSource } from "../../packages/server/src/platform/ids.ts";
import { parsePromptFile, publishPrompts } from "../../packages/server/src/prompts/index.ts";
import type { InstallationFixture } from "../../packages/server/test/support/installation-fixture.ts";
import { MOCK_ENTRY, writeOverlay } from "./mock-provider.ts";

const STORY = `---
promptd: 1
title: Story
model: ${MOCK_ENTRY}
inputs: { topic: {}, tone: {} }
---
Write a {{ tone }} story about {{ topic }}.
`;

export const STORY_INPUTS = { topic: "a kettle that sings", tone: "friendly" } as const;
/** The rendered text, for a peer whose agents have no inputs. */
export const STORY_TEXT = "Write a friendly story about a kettle that sings.";

export interface StoryPrompt {
  readonly promptVersionId: string;
  /** The settings that a process of the installation needs to run the prompt. */
  readonly environment: Readonly<Record<string, string>>;
}

/** @param directory where the overlay is written. @param url the mock model server's URL. */
export async function publishStory(
  { db }: InstallationFixture,
  { directory, url }: { readonly directory: string; readonly url: string },
): Promise<StoryPrompt> {
  const overlayFile = join(directory, "models.json");
  writeOverlay(overlayFile, url);
  const catalogue = loadCatalogue({ overlayFile, hasSecret: () => false, sandbox: true });
  const newId = createIdSource(systemClock);
  const authorId = await createAccount(db, newId, { email: `${newId()}@example.org`, plan: "none" });
  const [story] = await publishPrompts(db, parsePromptFile(STORY, catalogue), { authorId, catalogue, newId });
  if (story === undefined) throw new Error("The story was not published.");
  return { promptVersionId: story.promptVersionId, environment: { PROMPTD_MODELS_FILE: overlayFile } };
}
