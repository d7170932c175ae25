// Settings of the server's requests, from its OpenAPI document; they define the fields of the page's forms.

import { tracked } from "./pending";
import { pick, readFields, type Field, type Schemas } from "../settings/fields";

/** Settings class of each form. */
const SCHEMAS = {
  ballroom: "BallroomSettings",
  dance: "DanceSettings",
  family: "FamilySettings",
  graph: "GraphSettings",
  march: "MarchSettings",
  matching: "MatchingSettings",
  parametrize: "ParametrizeSettings",
  search: "SearchSettings",
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

/** Fields of a settings class; with `names` only these, in this order, including fields of groups. */
export function settingsFields(settings: SettingsName, names?: readonly string[]): Field[] {
  const all = fields.get(settings) ?? [];
  return names ? pick(all, names) : all;
}
