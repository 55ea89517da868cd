// A stored prompt with typed inputs, as a flow over HTTP, following the Express guide of genkit.
import { expressHandler } from "@genkit-ai/express";
import { openAICompatible } from "@genkit-ai/compat-oai";
import express from "express";
import { genkit, z } from "genkit";

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
const story = ai.defineFlow({ name: "story", inputSchema: input, outputSchema: z.string() }, async (inputs) => {
  const { text } = await prompt(inputs);
  return text;
});

const app = express();
app.use(express.json());
app.post("/story", expressHandler(story));
const server = app.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
process.once("SIGTERM", () => process.exit());
