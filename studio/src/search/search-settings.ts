// Settings of searches and families: from the address, to the address, to the server.

import type { SearchMenu, SearchMethod } from "../net/types";
import type { Body } from "../net/api";
import { settingsFields } from "../net/settings-schema";
import { segmentText, type Studio } from "../page/studio";
import { bodyOf, fromAddress, toAddress, valuesOf, withValues, type Given, type Value } from "../settings/fields";

export type Verb = "search" | "family";

/** The query, and the values of all fields that apply to the method, by name: "max", "expansion.tiers", ... */
export type Settings = Given & { query: string };

/** Settings of the address; without a query there, the selected segment is the query. */
export function settingsOf(verb: Verb, studio: Studio, address: Record<string, string>): Settings {
  const settings = settingsFrom(verb, address);
  if (!settings.query && studio.selection) {
    settings.query = segmentText(studio.selection);
    studio.replaceQuery(addressOf(verb, settings)); // so that a reload shows the same
  }
  return settings;
}

export function settingsFrom(verb: Verb, address: Record<string, string> = {}): Settings {
  const fields = settingsFields(verb);
  return { ...valuesOf(fields, fromAddress(fields, address)), query: address.query ?? "" };
}

/** The settings with changes; another method has other fields. */
export function changed(verb: Verb, settings: Settings, changes: Given): Settings {
  const fields = settingsFields(verb);
  const given = withValues(fields, settings, changes);
  return { ...valuesOf(fields, given), query: String(changes.query ?? settings.query) };
}

/** The settings that differ from the defaults, for the address. */
export function addressOf(verb: Verb, settings: Settings): Record<string, string | undefined> {
  const given = withValues(settingsFields(verb), {}, settings);
  return toAddress(settings.query ? { query: settings.query, ...given } : given);
}

/** Body of a request: the query, and the settings that differ from the defaults. */
export function requestBody(verb: Verb, settings: Settings): Body<"search"> & Body<"families"> {
  const fields = settingsFields(verb);
  return { query: settings.query, settings: bodyOf(fields, withValues(fields, {}, settings)) };
}

/** A list among the settings; empty where the method has no such field. */
export function listOf(value: Value | undefined): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

/** True for a segment, NAME:START-END in frames or seconds, or the name of a take; false for words. */
export function isSegment(text: string, takes: readonly { name: string }[]): boolean {
  return /^\S(.*\S)?:\d+(\.\d+)?s?-\d+(\.\d+)?s?$/.test(text) || takes.some(({ name }) => name === text);
}

/** The method of the settings. */
export function methodOf(menu: SearchMenu, settings: Settings): SearchMethod {
  return menu.methods.find((one) => one.name === settings.method) ?? menu.methods[0];
}

/** The unit of distances. */
export function unitOf(menu: SearchMenu, settings: Settings): string {
  const method = methodOf(menu, settings);
  if (method.unit) return method.unit;
  const name = settings.distance ?? settings.features;
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
