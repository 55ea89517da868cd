// A stored agent over HTTP, with the mastra adapter for Hono.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { serve } from "@hono/node-server";
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { MastraServer } from "@mastra/hono";
import { Hono } from "hono";

const provider = createOpenAICompatible({ name: "mock", apiKey: "x", baseURL: `${process.env.MOCK_URL}/v1` });
const story = new Agent({ id: "story", name: "story", instructions: "Write stories.", model: provider("m") });
const mastra = new Mastra({ agents: { story }, logger: false });
const app = new Hono();
await new MastraServer({ app, mastra }).init();
serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }) => console.log(`http://127.0.0.1:${port}`));
process.once("SIGTERM", () => process.exit());
