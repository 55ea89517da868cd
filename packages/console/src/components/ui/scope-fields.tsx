import { SCOPES, type Scope } from "@promptd/contract";

const MEANINGS: Readonly<Record<Scope, string>> = {
  "prompts:read": "read prompts and the marketplace",
  "prompts:write": "save and publish prompts",
  "keys:write": "list, create, and revoke API keys",
  "webhooks:write": "list, create, and change webhooks",
  "runs:read": "read runs with inputs and outputs",
  "credits:read": "read credits, journal, and usage",
  operator: "everything an operator can do",
};

interface ScopeFieldsProps {
  readonly legend: string;
  readonly offered: readonly Scope[];
  /** Preselected, except `operator`, which must be chosen by hand. */
  readonly areChosen?: boolean;
}

/** Form fields for a management token's scopes. `scopesOf` reads them. */
export function ScopeFields({ legend, offered, areChosen = false }: ScopeFieldsProps) {
  return (
    <fieldset className="grid gap-1.5">
      <legend className="pb-1 font-medium">{legend}</legend>
      {offered.map((scope) => (
        <label key={scope} className="flex items-baseline gap-2.5">
          <input
            type="checkbox"
            name="scopes"
            value={scope}
            defaultChecked={areChosen && scope !== "operator"}
            className="translate-y-px accent-accent"
          />
          <span>
            {MEANINGS[scope]} <code className="text-12 text-dim">{scope}</code>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** @throws Error when no scope is chosen. */
export function scopesOf(form: FormData): Scope[] {
  const scopes = SCOPES.filter((scope) => form.getAll("scopes").includes(scope));
  if (scopes.length === 0) throw new Error("Choose at least one permission.");
  return scopes;
}
