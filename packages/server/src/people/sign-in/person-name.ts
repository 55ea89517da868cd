import { shownNameField } from "@promptd/contract/manage/schemas";

const personName = shownNameField("name", 100);

/** What people call themselves, as others may be shown it. `fault`: why they may not. */
export function readPersonName(given: unknown): { readonly name: string } | { readonly fault: string } {
  const read = personName.safeParse(given);
  return read.success ? { name: read.data } : { fault: read.error.issues[0]?.message ?? "name is not valid." };
}
