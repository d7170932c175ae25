// Settings of the server's verbs, as its OpenAPI document describes them: where the page's forms get their fields.

import { tracked } from "./pending";
import { readFields, type Field, type Schemas } from "../settings/fields";

/** Name of the schema of each form. */
const SCHEMAS = {
  dance: "DanceRequest",
  crowd: "CrowdRequest",
  family: "FamilyRequest",
  graph: "GraphRequest",
  matching: "MatchingRequest",
  parametrize: "ParametrizeRequest",
  search: "SearchRequest",
} as const;
export type SettingsName = keyof typeof SCHEMAS;

const fields = new Map<SettingsName, Field[]>();

/** Load the fields of all settings; views may use them afterwards. */
export async function loadSettings(): Promise<void> {
  const document = await tracked(fetch("openapi.json").then((response) => response.json()));
  useSettings(document.components.schemas);
}

/** Use these schemas. */
export function useSettings(schemas: Schemas): void {
  for (const [name, schema] of Object.entries(SCHEMAS))
    fields.set(name as SettingsName, readFields(schemas[schema] ?? {}, schemas));
}

/** Fields of the settings of a verb; with names only these, in this order. */
export function settingsFields(settings: SettingsName, names?: readonly string[]): Field[] {
  const all = fields.get(settings) ?? [];
  return names ? names.flatMap((name) => all.find((one) => one.name === name) ?? []) : all;
}
