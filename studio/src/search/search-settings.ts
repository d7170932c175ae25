// Settings of searches and families: from the address, to the address, to the server.

import type { SearchMenu, SearchMethod } from "../net/types";
import type { Body } from "../net/api";
import { segmentText, type Studio } from "../page/studio";

/** Settings in the form, of a search and of a family. */
export type Settings = Required<Body<"search">> & { tiers: string; apart: number };

export const DEFAULTS: Settings = {
  query: "",
  method: "dtw",
  features: "e15",
  distance: "pc11",
  k: null,
  radius: null,
  max: 100,
  max_distance: null,
  within: [],
  only: [],
  without: [],
  accept: [],
  reject: [],
  steps: "slope",
  weights: null,
  rank: null,
  exclude_query: false,
  mirror: false,
  tiers: "all",
  apart: 0.2,
};

const TEXTS = ["query", "method", "features", "distance", "steps", "weights", "rank", "tiers"] as const;
const NUMBERS = ["k", "radius", "max", "max_distance", "apart"] as const;
const LISTS = ["within", "only", "without", "accept", "reject"] as const;
const FAMILY_ONLY = ["tiers", "apart"];
const SEARCH_ONLY = ["rank", "exclude_query", "mirror"];

/** Settings of the address; without a query there, the selected segment is the query. */
export function settingsOf(studio: Studio, address: Record<string, string>): Settings {
  const settings = settingsFrom(address);
  if (!settings.query && studio.selection) {
    settings.query = segmentText(studio.selection);
    studio.replaceQuery(addressOf(settings)); // so that a reload shows the same
  }
  return settings;
}

function settingsFrom(query: Record<string, string>): Settings {
  const settings: Settings = { ...DEFAULTS };
  for (const key of TEXTS) if (query[key]) Object.assign(settings, { [key]: query[key] });
  for (const key of NUMBERS) {
    const value = Number(query[key]);
    if (query[key] && Number.isFinite(value)) Object.assign(settings, { [key]: value });
  }
  for (const key of LISTS) if (query[key]) settings[key] = query[key].split(",").filter(Boolean);
  for (const key of ["exclude_query", "mirror"] as const) settings[key] = query[key] === "1";
  return settings;
}

/** The settings that differ from the defaults, for the address. */
export function addressOf(settings: Settings): Record<string, string | number | undefined> {
  const changed: Record<string, string | number | undefined> = {};
  for (const [key, value] of Object.entries(settings)) {
    if (JSON.stringify(value) === JSON.stringify(DEFAULTS[key as keyof Settings]) || value === null) continue;
    changed[key] = Array.isArray(value) ? value.join(",") : typeof value === "boolean" ? Number(value) : value;
  }
  return changed;
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
  return usedSettings(menu, settings, FAMILY_ONLY);
}

export function familyBody(menu: SearchMenu, settings: Settings): Body<"families"> {
  const { tiers, apart, max_distance } = settings;
  return {
    ...usedSettings(menu, settings, [...FAMILY_ONLY, ...SEARCH_ONLY, "max_distance"]),
    ...(max_distance === null ? {} : { join_distance: max_distance }),
    tiers: tiers === "all" ? tiers : Number(tiers),
    apart,
  };
}

/** The settings with a value that the method takes. */
function usedSettings(menu: SearchMenu, settings: Settings, without: string[]): { query: string } {
  const { options } = methodOf(menu, settings);
  const used = Object.entries(settings).filter(
    ([key, value]) => value !== null && options.includes(key) && !without.includes(key),
  );
  return { query: settings.query, ...{ method: settings.method }, ...Object.fromEntries(used) };
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
