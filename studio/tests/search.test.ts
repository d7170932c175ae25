import { beforeEach, describe, expect, it, vi } from "vitest";
import type { SearchMenu } from "../src/net/types";
import { useSettings } from "../src/net/settings-schema";
import type { Studio } from "../src/page/studio";
import { distanceText, shortName } from "../src/search/match-card";
import {
  addressOf,
  changed,
  filtersOnly,
  listOf,
  requestBody,
  settingsFrom,
  settingsOf,
  unitOf,
} from "../src/search/search-settings";
import type { JsonSchema } from "../src/settings/fields";
import { Verdicts } from "../src/search/verdicts";

// What modules of the page use while they are loaded, and Node does not have.
vi.hoisted(() => Object.assign(globalThis, { addEventListener: () => {}, IntersectionObserver: class {} }));

const method = (name: string, rest = {}) => ({
  name,
  unit: null,
  whole_clips: false,
  mirrors: name !== "web",
  threshold_filters: name === "dtw",
  ...rest,
});
const MENU: SearchMenu = {
  methods: [method("dtw"), method("lazy"), method("web"), method("emd", { unit: "degrees" })],
  features: [{ name: "e15", unit: "m" }],
  distances: [{ name: "jrd", unit: "rad" }],
  labels: [],
  defaults: { k: 256 },
};
const list: JsonSchema = { type: ["array", "null"], items: { type: "string" }, default: null };
const optional = (type: string): JsonSchema => ({ type: [type, "null"], default: null });
const features = { type: "string", default: "e15" };
const steps = { enum: ["slope", "classic"], default: "slope" };
const variant = (name: string, options: Record<string, JsonSchema>): JsonSchema => ({
  properties: { name: { const: name }, ...options },
});
const expansion = (whole: object): JsonSchema => ({
  properties: { tiers: { type: ["integer", "string"], default: "all" }, join_distance: optional("number") },
  default: whole,
});
const family: Record<string, JsonSchema> = {
  ...{ label: list, only: list, exclude: list },
  method: {
    oneOf: [
      variant("dtw", { features, rank: { enum: ["movement", "distance", null], type: ["string", "null"] }, steps }),
      variant("lazy", { features, k: optional("integer"), radius: optional("number"), steps }),
      variant("web", { distance: { type: "string", default: "pc11" } }),
      variant("emd", {}),
    ],
    discriminator: { propertyName: "name" },
    default: { name: "dtw" },
  },
  max: { type: ["integer", "null"], default: 100 },
  exclude_query: { type: "boolean", default: false },
  expansion: expansion({}),
  feedback: { properties: { accept: list, reject: list }, default: {} },
};
const search = {
  ...family,
  max_distance: optional("number"),
  mirror: { type: "boolean", default: false },
  expansion: expansion({ tiers: 1 }),
};
useSettings({ SearchSettings: { properties: search }, FamilySettings: { properties: family } });
const DEFAULTS = settingsFrom("search");
const studio = (selection: Studio["selection"] = null) => ({ selection, replaceQuery: vi.fn() }) as unknown as Studio;

describe("search settings", () => {
  it("come from the address and go there again", () => {
    const query = { query: "a:1-9", method: "lazy", k: "64", label: "walk,run", exclude_query: "1", steps: "classic" };
    const settings = settingsOf("search", studio(), query);
    expect(settings).toMatchObject({ k: 64, label: ["walk", "run"], exclude_query: true, max: 100 });
    expect(addressOf("search", settings)).toEqual(query);
    expect(addressOf("search", DEFAULTS)).toEqual({});
  });
  it("ignore what is not a number", () =>
    expect(settingsOf("search", studio(), { method: "lazy", k: "many" }).k).toBeNull());
  it("take the selected segment as the query, and put it into the address", () => {
    const selecting = studio({ motion: "walk", start: 1, end: 9 });
    expect(settingsOf("search", selecting, {}).query).toBe("walk:1-9");
    expect(selecting.replaceQuery).toHaveBeenCalledWith({ query: "walk:1-9" });
  });
  it("have the defaults of the verb", () => {
    expect(DEFAULTS["expansion.tiers"]).toBe(1);
    expect(settingsFrom("family")["expansion.tiers"]).toBe("all");
  });
  it("have the options of the method", () => {
    const lazy = changed("search", { ...DEFAULTS, query: "a:1-9", rank: "distance" }, { method: "lazy", k: 8 });
    expect(lazy).toMatchObject({ query: "a:1-9", method: "lazy", k: 8, radius: null });
    expect("rank" in lazy).toBe(false);
    expect(changed("search", lazy, { method: "dtw" })).toMatchObject({ features: "e15", rank: null });
    expect(listOf(lazy["feedback.accept"])).toEqual([]);
  });
  it("are sent as far as they differ from the defaults", () => {
    const settings = changed("search", { ...DEFAULTS, query: "a:1-9" }, { method: "lazy", k: 8 });
    expect(requestBody("search", DEFAULTS)).toEqual({ query: "", settings: {} });
    expect(requestBody("search", settings)).toEqual({ query: "a:1-9", settings: { method: { name: "lazy", k: 8 } } });
    const judged = changed("search", settings, { "feedback.reject": ["b:0-9"], max_distance: 0.1 });
    expect(requestBody("search", judged).settings).toMatchObject({
      feedback: { reject: ["b:0-9"] },
      max_distance: 0.1,
    });
    const family = changed("family", { ...settingsFrom("family"), query: "a:1-9" }, { "expansion.join_distance": 0.1 });
    expect(requestBody("family", family)).toEqual({ query: "a:1-9", settings: { expansion: { join_distance: 0.1 } } });
  });
  it("have the unit of their features, distance or method", () => {
    expect(unitOf(MENU, DEFAULTS)).toBe("m");
    expect(unitOf(MENU, changed("search", DEFAULTS, { method: "web", distance: "jrd" }))).toBe("rad");
    expect(unitOf(MENU, { ...DEFAULTS, method: "emd" })).toBe("degrees");
  });
  it("know when the threshold only filters", () => {
    expect(filtersOnly(MENU, DEFAULTS)).toBe(true);
    expect(filtersOnly(MENU, { ...DEFAULTS, rank: "distance" })).toBe(false);
    expect(filtersOnly(MENU, { ...DEFAULTS, features: "jrd" })).toBe(false);
    expect(filtersOnly(MENU, { ...DEFAULTS, method: "lazy" })).toBe(false);
  });
});

describe("match cards", () => {
  it("shorten names in the middle", () => {
    expect(shortName("walk")).toBe("walk");
    expect(shortName("a_very_long_name_of_a_take_p0", 9)).toBe("a_ve…e_p0");
  });
  it("write distances with their unit", () => {
    expect(distanceText(0.12345, "m")).toBe("0.123 m");
    expect(distanceText(12.34, "degrees")).toBe("12.3°");
    expect(distanceText(1.5, "rad")).toBe("1.50 rad");
  });
});

describe("verdicts", () => {
  const stored = new Map<string, string>();
  const clip = (start_frame: number, end_frame: number, motion = "walk") => ({ motion, start_frame, end_frame });
  beforeEach(() => {
    stored.clear();
    vi.stubGlobal("localStorage", {
      getItem: (key: string) => stored.get(key) ?? null,
      setItem: (key: string, value: string) => stored.set(key, value),
    });
  });
  const opened = (library = "/takes.loom") => {
    const verdicts = new Verdicts();
    verdicts.open(library, "walk:0-50");
    return verdicts;
  };
  it("belong to a query", () => {
    const verdicts = opened();
    verdicts.judge(clip(0, 100), "accepted");
    verdicts.open("/takes.loom", "kick:0-50");
    expect(verdicts.accepted).toHaveLength(0);
    verdicts.judge(clip(0, 100), "rejected");
    verdicts.open("/takes.loom", "walk:0-50");
    expect(verdicts.verdict(clip(0, 100))).toBe("accepted");
  });
  it("are undone one change at a time", () => {
    const verdicts = opened();
    verdicts.judge(clip(0, 100), "rejected");
    verdicts.judge([clip(0, 100), clip(200, 300)], "accepted");
    expect(verdicts.accepted).toHaveLength(2);
    expect(verdicts.undo()).toBe(true);
    expect([verdicts.accepted.length, verdicts.verdict(clip(0, 100))]).toEqual([0, "rejected"]);
    verdicts.undo();
    expect([verdicts.undo(), verdicts.rejected.length]).toEqual([false, 0]);
  });
  it("are stored per library", () => {
    opened().judge(clip(0, 100), "accepted");
    expect(opened().accepted).toHaveLength(1);
    expect(opened("/others.loom").accepted).toHaveLength(0);
  });
  it("hold for segments that overlap by four fifths", () => {
    const verdicts = opened();
    verdicts.judge(clip(0, 100), "accepted");
    expect(verdicts.verdict(clip(20, 100))).toBe("accepted");
    expect(verdicts.verdict(clip(21, 100))).toBeNull();
    expect(verdicts.verdict(clip(0, 100, "run"))).toBeNull();
  });
  it("are replaced and withdrawn", () => {
    const verdicts = opened();
    verdicts.judge(clip(0, 100), "accepted");
    verdicts.judge(clip(5, 100), "rejected");
    expect([verdicts.accepted.length, verdicts.rejected.length]).toEqual([0, 1]);
    verdicts.judge(clip(0, 100), null);
    expect(verdicts.verdict(clip(0, 100))).toBeNull();
  });
  it("survive a broken store", () => {
    stored.set("motionloom:verdicts:/takes.loom", "{");
    expect(opened().accepted).toEqual([]);
  });
});
