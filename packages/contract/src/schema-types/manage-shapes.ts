import type { manageSchemas } from "../manage/schemas.ts";
import type { ShapesOf } from "./v1-shapes.ts";

export type ManageShapes = ShapesOf<typeof manageSchemas>;
