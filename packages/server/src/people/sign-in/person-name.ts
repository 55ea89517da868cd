import { shownNameField } from "@promptd/contract/manage/schemas";

const personName = shownNameField("name", 100);

/** A person's self-chosen name, if it may be shown to others. `fault`: why it may not. */
export function readPersonName(given: unknown): { readonly name: string } | { readonly fault: string } {
  const read = personName.safeParse(given);
  return read.success ? { name: read.data } : { fault: read.error.issues[0]?.message ?? "name is not valid." };
}
