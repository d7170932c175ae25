// Settings of the server's verbs, as its OpenAPI document describes them: where the page's forms get their fields.

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

/** Fields of the settings of a verb; with names only these, in this order, also those of groups. */
export function settingsFields(settings: SettingsName, names?: readonly string[]): Field[] {
  const all = fields.get(settings) ?? [];
  return names ? pick(all, names) : all;
}
