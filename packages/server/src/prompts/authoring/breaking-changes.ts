/** Finds what callers of one version send that another version would reject or ignore. */
import { countOf } from "@promptd/contract";
import type { BreakingChange } from "@promptd/contract/manage";
import type { Catalogue } from "../../models/index.ts";
import { currentRunOptions } from "../inputs/run-options.ts";
import type { InputField, PromptContent } from "../prompt-definition.ts";

/** Empty: `after` accepts every run that `before` accepts, and uses the same inputs. */
export function findBreakingChanges(
  before: PromptContent,
  after: PromptContent,
  catalogue: Catalogue,
): BreakingChange[] {
  const left = new Map(before.definition.inputs.map((input) => [input.key, input]));
  const right = new Map(after.definition.inputs.map((input) => [input.key, input]));
  return [
    ...[...right.values()].flatMap((input) => requiredNow(left.get(input.key), input)),
    ...[...left.values()].flatMap((input) => refusedNow(input, right.get(input.key))),
    ...imagesNow(before, after),
    ...optionsNow(before, after, catalogue),
  ];
}

function requiredNow(before: InputField | undefined, { key: name, default: value }: InputField): BreakingChange[] {
  if (value !== null || before?.default === null) return [];
  const message = before === undefined ? `${name} is new and required.` : `${name} no longer has a default.`;
  return [{ kind: "input_required", name, message }];
}

function refusedNow(before: InputField, after: InputField | undefined): BreakingChange[] {
  const { key: name } = before;
  if (after === undefined) {
    return [
      { kind: "input_unknown", name, message: `${name} was removed: values that callers send for it are ignored.` },
    ];
  }
  const refused = (message: string): BreakingChange => ({ kind: "value_refused", name, message: `${name} ${message}` });
  const [typeBefore, typeAfter] = [typeOf(before), typeOf(after)];
  if (typeBefore !== typeAfter && typeAfter !== "text")
    return [refused(`is now of type ${typeAfter}; it was of type ${typeBefore}.`)];
  return [
    ...removedChoices(before, after).map(refused),
    ...narrower(before, after).map(refused),
    ...(before.allowEmpty && !after.allowEmpty && after.default === null ? [refused("can no longer be empty.")] : []),
  ];
}

function typeOf({ type, choices }: InputField): string {
  return type ?? (choices === null ? "text" : "select");
}

function removedChoices(before: InputField, after: InputField): string[] {
  const names = new Set(after.choices?.map(({ name }) => name));
  const gone = after.choices === null ? [] : (before.choices ?? []).filter(({ name }) => !names.has(name));
  if (gone.length === 0) return [];
  return [`no longer offers: ${gone.map(({ name }) => name).join(", ")}.`];
}

/** Limits that exclude values that were allowed before. */
function narrower(before: InputField, after: InputField): string[] {
  const most = (old: number | null | undefined, now: number | null | undefined): now is number =>
    typeof now === "number" && (typeof old !== "number" || now < old);
  const least = (old: number | undefined, now: number | undefined): now is number =>
    now !== undefined && (old === undefined || now > old);
  const was = (old: number | null | undefined) =>
    typeof old === "number" ? `; the limit was ${old}.` : "; there was no limit.";
  const texts: string[] = [];
  if (most(before.maxLength, after.maxLength)) {
    texts.push(`accepts at most ${countOf(after.maxLength, "character")}${was(before.maxLength)}`);
  }
  if (least(before.min, after.min)) texts.push(`must be at least ${after.min}${was(before.min)}`);
  if (most(before.max, after.max)) texts.push(`must be at most ${after.max}${was(before.max)}`);
  const [countBefore, countAfter] = [before.multiple ?? ONE, after.multiple ?? ONE];
  const isCounted = typeOf(after) === "select" || typeOf(after) === "list";
  if (isCounted && typeOf(before) === typeOf(after)) {
    if (countAfter.max < countBefore.max)
      texts.push(`accepts at most ${countAfter.max}; it accepted ${countBefore.max}.`);
    if (countAfter.min > countBefore.min) texts.push(`needs at least ${countAfter.min}; it needed ${countBefore.min}.`);
  }
  return texts;
}

const ONE = { min: 1, max: 1 };

function imagesNow(before: PromptContent, after: PromptContent): BreakingChange[] {
  const [old, now] = [before.definition.images.length, after.definition.images.length];
  return old === now
    ? []
    : [{ kind: "images", name: "", message: `A run now needs ${countOf(now, "image")}; it needed ${old}.` }];
}

function optionsNow(before: PromptContent, after: PromptContent, catalogue: Catalogue): BreakingChange[] {
  const offered = ({ model }: PromptContent) => {
    const entry = catalogue.find(model);
    return new Map(entry === null ? [] : Object.entries(currentRunOptions(entry, {})));
  };
  const now = offered(after);
  return [...offered(before)].flatMap(([name, { options }]) => {
    const values = now.get(name)?.options;
    const gone = options.filter((value) => values?.includes(value) !== true);
    if (gone.length === 0) return [];
    const model = `the model ${after.model}`;
    const message =
      values === undefined
        ? `${model} has no option ${name}.`
        : `${model} does not accept these values of ${name}: ${gone.join(", ")}.`;
    return [{ kind: "option_refused" as const, name, message: message.charAt(0).toUpperCase() + message.slice(1) }];
  });
}
