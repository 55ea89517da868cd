export const PROMPT = "01a182d4-47a0-7b12-9c0d-6d2f4a8e1b33";
export const VERSION = "01a19b45-b800-7a3e-8b1d-0c6f5e2a9b77";
export const RUN = "01a1f874-3e4b-7d21-a4c8-5b7e11f20d3a";

const field = { type: "text", description: "", required: true, allowEmpty: false, default: null, maxLength: null };
export const config = {
  textInputs: {
    tone: {
      ...field,
      position: 1,
      type: "select",
      label: "tone",
      required: false,
      default: "calm",
      options: ["calm", "loud"],
      multiple: null,
    },
    "Child's Age": { ...field, position: 0, label: "Age", description: "In years", options: null, multiple: null },
  },
  imageInputs: [{ position: 0, label: "Photo", description: "One clear face" }],
  imageCount: 1,
  model: "sandbox/image",
  modality: "image",
  runOptions: { quality: { default: "medium", options: ["low", "medium", "high"] } },
  output: { type: "image" },
  inputSchema: {},
  estimatedCredits: 12,
  creditsRequired: 15,
};
export const version = {
  promptVersionId: VERSION,
  promptId: PROMPT,
  title: "Cat portrait",
  publishedAt: "2026-11-02T08:00:00.000Z",
  config,
};
