/** Chooses the key that the code is for. Full keys are shown only once, so the code has the name and display form. */
import type { Key } from "@promptd/contract/manage";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { keysQuery } from "../../api.ts";
import { Select } from "../ui/field.tsx";

/** Keys that may run this prompt, with the newest preselected. Undefined while they load. */
export function useKeyChoice(promptId: string) {
  const [keyId, choose] = useState<string | null>(null);
  const { data } = useInfiniteQuery(keysQuery("without"));
  const keys = data?.pages
    .flatMap((page) => page.rows)
    .filter(({ state, promptIds }) => state === "valid" && (promptIds === null || promptIds.includes(promptId)));
  const key = keys?.find((one) => one.keyId === keyId) ?? keys?.[0] ?? null;
  return { keys, key, choose };
}

interface KeyChoiceProps {
  readonly keys: readonly Key[] | undefined;
  readonly chosen: Key | null;
  readonly onChoose: (keyId: string) => void;
}

export function KeyChoice({ keys, chosen, onChoose }: KeyChoiceProps) {
  if (keys === undefined) return null;
  if (chosen === null) {
    return (
      <p className="border-t border-line px-4 py-2.5 text-12 text-dim">
        The code needs an API key that can run this prompt.{" "}
        <Link to="/keys" search={{ new: 1 }} className="text-accent underline underline-offset-2">
          Create key
        </Link>
      </p>
    );
  }
  return (
    <div className="flex flex-wrap items-center gap-2 border-t border-line px-4 py-2 text-12 text-dim">
      <label htmlFor="code-key">Key</label>
      <Select id="code-key" className="w-64" value={chosen.keyId} onChange={({ target }) => onChoose(target.value)}>
        {keys.map(({ keyId, name, display }) => (
          <option key={keyId} value={keyId}>
            {display} {name}
          </option>
        ))}
      </Select>
    </div>
  );
}
