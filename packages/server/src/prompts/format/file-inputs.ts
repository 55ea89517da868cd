/** The files that a prompt accepts: images only. */
import type { ImageSlot } from "../prompt-definition.ts";
import { FIELD_LIMITS } from "./field-limits.ts";
import { FieldReader, MEMBERS_READ_MAX } from "./field-reader.ts";
import { kindName } from "./source-tree.ts";

/** Reads `images`: the slots for images, in file order. */
export function readImageSlots(reader: FieldReader): ImageSlot[] {
  const items = reader.list("images") ?? [];
  if (items.length > FIELD_LIMITS.images) {
    const message = `has ${items.length} image slots; the limit is ${FIELD_LIMITS.images}`;
    reader.faults.add({ line: reader.lineOf("images"), field: "images", code: "LIMITS", message });
  }
  return items.slice(0, MEMBERS_READ_MAX).map((item, index) => {
    const path = `images[${index + 1}]`;
    const fallback = { label: `Image ${index + 1}`, description: "" };
    if (item.kind !== "map") {
      reader.faults.addField(item.line, path, `must be a map such as { label: Photo }, got ${kindName(item)}`);
      return fallback;
    }
    const slot = new FieldReader(item, path, reader.faults);
    const label = slot.text("label", { max: 200 }) ?? fallback.label;
    const description = slot.text("description", { max: 1_000, mayBeEmpty: true, mayHaveLines: true }) ?? "";
    const isMask = slot.flag("mask");
    slot.finish();
    return { label, description, ...(isMask ? { mask: true } : {}) };
  });
}
