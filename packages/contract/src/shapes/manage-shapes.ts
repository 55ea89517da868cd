import type { manageSchemas } from "../manage/schemas.ts";
import type { ShapesOf } from "./endpoint-shapes.ts";

export type ManageShapes = ShapesOf<typeof manageSchemas>;
