export { checkImageInputs } from "./image-inputs.ts";
export type {
  Files,
  GeneratedFile,
  ImageLimits,
  KeptFile,
  LoadedImage,
  LoadOutcome,
  PublishedMediaType,
  Refused,
  StoredImage,
} from "./stored-files.ts";
