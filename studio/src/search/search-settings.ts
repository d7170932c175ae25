// What is searched for, and how: as the form has it, the address, and the server.

import { asText, type Studio } from "../page/studio";

export interface Method {
  name: string; about: string; unit: string | null; whole_clips: boolean;
  options: string[]; threshold_filters: boolean;
}
export interface Measured { name: string; unit: string }
export interface Menu {
  methods: Method[]; features: Measured[]; distances: Measured[]; ranks: string[];
  labels: { name: string; count: number }[]; defaults: { k: number };
}

export interface Settings {
  query: string; method: string; features: string; distance: string;
  k: number | null; radius: number | null; max: number; max_distance: number | null;
  within: string[]; only: string[]; without: string[];
  steps: string; weights: string; rank: string | null; exclude_query: boolean;
  tiers: string; apart: number;
}

export const DEFAULTS: Settings = {
  query: "", method: "dtw", features: "e15", distance: "pc11", k: null, radius: null, max: 100,
  max_distance: null, within: [], only: [], without: [], steps: "slope", weights: "moving",
  rank: null, exclude_query: false, tiers: "all", apart: 0.2,
};

const NUMBERS = ["k", "radius", "max", "max_distance", "apart"] as const;
const LISTS = ["within", "only", "without"] as const;
const FAMILY = ["tiers", "apart"]; // mean nothing to a plain search
const SEARCH = ["rank", "exclude_query"]; // mean nothing to a family

/** Of the address; where it names no query, of what is selected. */
export function settingsOf(studio: Studio, address: Record<string, string>): Settings {
  const settings = settingsFrom(address);
  if (!settings.query && studio.selection) {
    settings.query = asText(studio.selection);
    studio.note(addressOf(settings)); // the address must tell all: it may be reloaded
  }
  return settings;
}

function settingsFrom(query: Record<string, string>): Settings {
  const settings: Settings = { ...DEFAULTS };
  for (const key of ["query", "method", "features", "distance", "steps", "weights", "rank", "tiers"] as const)
    if (query[key]) settings[key] = query[key];
  for (const key of NUMBERS) {
    const value = Number(query[key]);
    if (query[key] && Number.isFinite(value)) (settings as any)[key] = value;
  }
  for (const key of LISTS) if (query[key]) settings[key] = query[key].split(",").filter(Boolean);
  settings.exclude_query = query.exclude_query === "1";
  return settings;
}

/** For the address: what differs from what would be taken anyway. */
export function addressOf(settings: Settings): Record<string, string | number | undefined> {
  const told: Record<string, string | number | undefined> = {};
  for (const [key, value] of Object.entries(settings)) {
    if (JSON.stringify(value) === JSON.stringify((DEFAULTS as any)[key]) || value === null) continue;
    told[key] = Array.isArray(value) ? value.join(",") : value === true ? 1 : value;
  }
  return told;
}

/** The method that the settings name. */
export function methodOf(menu: Menu, settings: Settings): Method {
  return menu.methods.find((one) => one.name === settings.method) ?? menu.methods[0];
}

/** For the server: what means something to the method. */
export function bodyOf(menu: Menu, settings: Settings, family = false): Record<string, unknown> {
  const { options } = methodOf(menu, settings);
  const body: Record<string, unknown> = { query: settings.query, method: settings.method };
  for (const [key, value] of Object.entries(settings)) {
    if (key in body || (family ? SEARCH : FAMILY).includes(key) || value === null) continue;
    if (!options.includes(key) && !FAMILY.includes(key)) continue;
    body[key] = key === "tiers" && value !== "all" ? Number(value) : value;
  }
  return body;
}

/** What distances are told in. */
export function unitOf(menu: Menu, settings: Settings): string {
  const method = methodOf(menu, settings);
  if (method.unit) return method.unit;
  const name = method.options.includes("distance") ? settings.distance : settings.features;
  return [...menu.features, ...menu.distances].find((one) => one.name === name)?.unit ?? "m";
}

/** Whether a threshold does nothing but leave out what lies beyond it. */
export function filtersOnly(menu: Menu, settings: Settings): boolean {
  return methodOf(menu, settings).threshold_filters
    && !(settings.method === "dtw" && settings.rank === "distance")
    && (settings.method !== "dtw" || menu.features.some((one) => one.name === settings.features));
}
