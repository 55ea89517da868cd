import type { ExamplesOf } from "../../examples/endpoint-examples.ts";
import type { ShapesOf } from "../../endpoints.ts";
import type { creditsAndModelsSchemas } from "../schemas/credits-and-models.ts";

const RUN_ID = "019a1f87-3e4b-7d21-a4c8-5b7e11f20d3a";

const model = {
  model: "sandbox/text",
  modality: "text",
  provider: "sandbox",
  status: "available",
  retiresAt: null,
  successor: null,
  enabled: true,
  isOff: false,
  price: "outputPer1k 1",
};

export const creditsAndModelsExamples: ExamplesOf<ShapesOf<typeof creditsAndModelsSchemas>> = {
  getCredits: { data: { available: 4_998, held: 4, posted: 5_002, frozen: null } },
  listJournal: {
    parameters: { limit: 10, startingAfter: "4711" },
    data: {
      rows: [
        {
          entryId: "4712",
          at: "2026-11-22T10:00:01.480Z",
          kind: "capture",
          amount: 2,
          creditsAfter: 4_998,
          runId: RUN_ID,
          title: "A poem for a tea label",
          reason: null,
          expiresAt: null,
        },
      ],
      hasMore: true,
    },
  },
  listModels: {
    data: {
      models: [model],
    },
  },
  switchModel: {
    bodies: { off: { model: "sandbox/text", isOff: true } },
    data: { ...model, enabled: false, isOff: true },
  },
  testModel: {
    bodies: { text: { model: "sandbox/text" } },
    data: {
      model: "sandbox/text",
      isAnswered: true,
      tookMs: 640,
      costCredits: 0.02,
      text: "Ready.",
      pictureBytes: null,
      cause: null,
      httpStatus: null,
      providerCode: null,
    },
  },
};
