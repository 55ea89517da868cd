import { checkOverlay, listModels, listSwitchedOff, type ModelLine, type OverlayReport } from "../models/index.ts";
import { listPromptsOfModels, type PromptOfModel } from "../prompts/index.ts";
import { catalogueOptions, readCatalogue, type CommandContext } from "../read-catalogue.ts";

/** Operator queries about the catalogue. */
export function modelActions(context: CommandContext) {
  return {
    async list(): Promise<ModelLine[]> {
      const [catalogue, off] = await Promise.all([readCatalogue(context), listSwitchedOff(context.db)]);
      return listModels(catalogue, off);
    },
    /** Reads an overlay as a starting server would, and finds published prompts that its retirements would stop. */
    async check(overlayFile: string): Promise<OverlayReport & { stoppedPrompts: readonly PromptOfModel[] }> {
      const report = checkOverlay(overlayFile, catalogueOptions(context.config));
      const stoppedPrompts = report.retired.length === 0 ? [] : await listPromptsOfModels(context.db, report.retired);
      return { ...report, stoppedPrompts };
    },
  };
}
