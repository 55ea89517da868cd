import { featuresOf, schemaFault, type CatalogueEntry } from "../../models/index.ts";
import type { StepDefinition } from "../prompt-definition.ts";
import { isPlainObject, type JsonObject } from "../../platform/json.ts";

type AddFault = (field: string, message: string) => void;

/** What a model makes, in the plural, for messages. */
export function madeBy({ modality }: CatalogueEntry): string {
  return modality === "text" ? "text" : `${modality}s`;
}

/** Checks fields that only text models support, and whether this model supports them. */
export function checkTextFields(step: StepDefinition, entry: CatalogueEntry, addFault: AddFault): void {
  const { settings = {}, messages, outputSchema, webSearch } = step;
  const features = entry.modality === "text" ? featuresOf(entry) : null;
  if (features === null) {
    const written = [
      ...Object.keys(settings),
      ...(messages === undefined ? [] : ["messages"]),
      ...(outputSchema === undefined ? [] : ["output"]),
      ...(webSearch === undefined ? [] : ["webSearch"]),
    ];
    for (const name of written)
      addFault(name, `${name} works only with text models; ${entry.model} makes ${madeBy(entry)}`);
    return;
  }
  const { temperature, topP, seed, stop } = settings;
  const refused = (name: string) => addFault(name, `${entry.model} does not support ${name}: remove it`);
  if (temperature !== undefined && features.temperatureMax === null) refused("temperature");
  else if (temperature !== undefined && temperature > (features.temperatureMax ?? 0))
    addFault("temperature", `temperature is ${temperature}; ${entry.model} accepts at most ${features.temperatureMax}`);
  if (topP !== undefined && !features.topP) refused("topP");
  else if (topP !== undefined && temperature !== undefined && !features.both && features.temperatureMax !== null)
    addFault("topP", `${entry.model} accepts temperature or topP, not both`);
  if (seed !== undefined && !features.seed) refused("seed");
  if (stop !== undefined && features.stopMax === 0) refused("stop");
  else if (stop !== undefined && stop.length > features.stopMax)
    addFault("stop", `stop has ${stop.length} texts; ${entry.model} accepts at most ${features.stopMax}`);
  if (outputSchema !== undefined) checkSchema(outputSchema, addFault);
  const searchFault = webSearchFault(step, entry);
  if (searchFault !== null) addFault("webSearch", searchFault);
  else if (webSearch?.sources === true && outputSchema !== undefined)
    addFault(
      "webSearch",
      "sources are listed below the text, which JSON output does not allow: add a field for them to the schema",
    );
}

/** Why the model cannot search the web for this step, or null. */
export function webSearchFault(
  { webSearch, outputSchema }: Pick<StepDefinition, "webSearch" | "outputSchema">,
  { model, webSearch: terms }: CatalogueEntry,
): string | null {
  if (webSearch === undefined) return null;
  if (terms === undefined)
    return `${model} does not support web search. Most models from OpenAI, Anthropic, and Google do; an operator can list them with "promptd admin models list"`;
  if (outputSchema === undefined || terms.withSchema === true) return null;
  return `${model} cannot search the web and follow a schema in one call: search in an earlier step`;
}

function checkSchema(schema: JsonObject, addFault: AddFault): void {
  if (schema["type"] !== "object")
    addFault("output", "output.schema must have type: object, because providers require it");
  const untyped = findUntyped(schema, "schema");
  if (untyped !== null) addFault("output", `output.${untyped} needs a type: without one, any value would match`);
  const fault = schemaFault(schema);
  if (fault !== null) addFault("output", `output.schema cannot be used: ${fault}`);
}

const TYPED_BY = ["type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "not"];

/** Finds the path of the first member schema without a type. */
function findUntyped(schema: unknown, path: string): string | null {
  if (!isPlainObject(schema)) return null;
  const { properties, items, $defs } = schema;
  if (!TYPED_BY.some((name) => Object.hasOwn(schema, name))) return path;
  for (const [name, members] of Object.entries({ properties, $defs })) {
    if (!isPlainObject(members)) continue;
    for (const [key, member] of Object.entries(members)) {
      const found = findUntyped(member, `${path}.${name}.${key}`);
      if (found !== null) return found;
    }
  }
  return items === undefined ? null : findUntyped(items, `${path}.items`);
}
