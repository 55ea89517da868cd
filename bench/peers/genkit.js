// A stored prompt with typed inputs, as a flow over HTTP, following the Express guide of genkit. With DATABASE_URL, runs are
// stored and charged too, in one statement before the model call and one after it: the least that does both durably.
import { expressHandler } from "@genkit-ai/express";
import { openAICompatible } from "@genkit-ai/compat-oai";
import express from "express";
import { genkit, z } from "genkit";
import { openStore } from "./store.js";

const ai = genkit({
  plugins: [openAICompatible({ name: "mock", apiKey: "x", baseURL: `${process.env.MOCK_URL}/v1` })],
});
const input = z.object({ topic: z.string(), tone: z.string() });
const prompt = ai.definePrompt({
  name: "story",
  model: "mock/m",
  input: { schema: input },
  prompt: "Write a {{tone}} story about {{topic}}.",
});
const store = process.env.DATABASE_URL === undefined ? null : await openStore(process.env.DATABASE_URL);
const story = ai.defineFlow({ name: "story", inputSchema: input, outputSchema: z.string() }, async (inputs) => {
  const run = await store?.create(inputs);
  const { text } = await prompt(inputs);
  await store?.finish(run, text);
  return text;
});

const app = express();
app.use(express.json());
app.post("/story", expressHandler(story));
const server = app.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
process.once("SIGTERM", () => process.exit());
