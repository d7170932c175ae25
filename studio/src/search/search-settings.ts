// Settings of searches and families: from the address, to the address, to the server.

import type { SearchMenu, SearchMethod } from "../net/types";
import type { Body } from "../net/api";
import { settingsFields } from "../net/settings-schema";
import { segmentText, type Studio } from "../page/studio";
import { fromAddress, toAddress, valuesOf, withValues, type Field, type Given } from "../settings/fields";

/** Settings in the form, of a search and of a family. */
export type Settings = Required<Body<"search">> & Required<Body<"families">>;

/** The fields of both, each once. */
function allFields(): Field[] {
  const search = settingsFields("search");
  const names = new Set(search.map((one) => one.name));
  return [...search, ...settingsFields("family").filter((one) => !names.has(one.name))];
}

export function defaultSettings(): Settings {
  return settingsFrom({});
}

/** Settings of the address; without a query there, the selected segment is the query. */
export function settingsOf(studio: Studio, address: Record<string, string>): Settings {
  const settings = settingsFrom(address);
  if (!settings.query && studio.selection) {
    settings.query = segmentText(studio.selection);
    studio.replaceQuery(addressOf(settings)); // so that a reload shows the same
  }
  return settings;
}

function settingsFrom(address: Record<string, string>): Settings {
  const fields = allFields();
  return { ...valuesOf(fields, fromAddress(fields, address)), query: address.query ?? "" } as unknown as Settings;
}

/** The settings that differ from the defaults, for the address. */
export function addressOf(settings: Settings): Record<string, string | undefined> {
  const { query, ...given } = withValues(allFields(), {}, settings as unknown as Given);
  return toAddress(query ? { query, ...given } : given);
}

/** Whether a text is a segment, NAME:START-END in frames or seconds, or the name of a take; else it is words. */
export function isSegment(text: string, takes: readonly { name: string }[]): boolean {
  return /^\S(.*\S)?:\d+(\.\d+)?s?-\d+(\.\d+)?s?$/.test(text) || takes.some(({ name }) => name === text);
}

/** The method of the settings. */
export function methodOf(menu: SearchMenu, settings: Settings): SearchMethod {
  return menu.methods.find((one) => one.name === settings.method) ?? menu.methods[0];
}

/** Body of a search request: the settings that the method takes. */
export function searchBody(menu: SearchMenu, settings: Settings): Body<"search"> {
  return usedSettings("search", menu, settings);
}

/** Body of a family request: the maximum distance is that at which members are joined. */
export function familyBody(menu: SearchMenu, settings: Settings): Body<"families"> {
  const { max_distance, tiers, apart } = settings;
  const used = usedSettings("family", menu, { ...settings, max_distance: null });
  return { ...used, ...(max_distance !== null && { join_distance: max_distance }), tiers, apart };
}

/** The settings with a value that a request and its method take. */
function usedSettings(verb: "search" | "family", menu: SearchMenu, settings: Settings): Body<"search"> {
  const { options } = methodOf(menu, settings);
  const names = settingsFields(verb)
    .map((one) => one.name)
    .filter((name) => options.includes(name));
  const values = settings as unknown as Given;
  const used = names.filter((name) => values[name] !== null).map((name) => [name, values[name]]);
  return { query: settings.query, method: settings.method, ...Object.fromEntries(used) };
}

/** The unit of distances. */
export function unitOf(menu: SearchMenu, settings: Settings): string {
  const method = methodOf(menu, settings);
  if (method.unit) return method.unit;
  const name = method.options.includes("distance") ? settings.distance : settings.features;
  return [...menu.features, ...menu.distances].find((one) => one.name === name)?.unit ?? "m";
}

/** Whether the threshold only filters matches, without changing the search. */
export function filtersOnly(menu: SearchMenu, settings: Settings): boolean {
  return (
    methodOf(menu, settings).threshold_filters &&
    !(settings.method === "dtw" && settings.rank === "distance") &&
    (settings.method !== "dtw" || menu.features.some((one) => one.name === settings.features))
  );
}
