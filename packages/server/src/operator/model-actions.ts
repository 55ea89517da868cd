import { checkOverlay, listModels, type ModelLine, type OverlayReport } from "../models/index.ts";
import { listPromptsOfModels, type PromptOfModel } from "../prompts/index.ts";
import { catalogueOptions, readCatalogue, type CommandContext } from "../read-catalogue.ts";

/** What an operator asks of the catalogue. */
export function modelActions(context: CommandContext) {
  return {
    list: async (): Promise<ModelLine[]> => listModels(await readCatalogue(context)),
    /** Reads an overlay as a start would, and finds the published prompts that what it retires would stop. */
    async check(overlayFile: string): Promise<OverlayReport & { stoppedPrompts: readonly PromptOfModel[] }> {
      const report = checkOverlay(overlayFile, catalogueOptions(context.config));
      const stoppedPrompts = report.retired.length === 0 ? [] : await listPromptsOfModels(context.db, report.retired);
      return { ...report, stoppedPrompts };
    },
  };
}
