import { beforeEach, describe, expect, it, vi } from "vitest";
import type { SearchMenu } from "../src/net/types";
import { useSettings } from "../src/net/settings-schema";
import type { Studio } from "../src/page/studio";
import { distanceText, shortName } from "../src/search/match-card";
import {
  addressOf,
  defaultSettings,
  familyBody,
  filtersOnly,
  searchBody,
  settingsOf,
  unitOf,
} from "../src/search/search-settings";
import type { JsonSchema } from "../src/settings/fields";
import { Verdicts } from "../src/search/verdicts";

// What modules of the page use while they are loaded, and Node does not have.
vi.hoisted(() => Object.assign(globalThis, { addEventListener: () => {}, IntersectionObserver: class {} }));

const ALWAYS = ["max", "max_distance", "within", "only", "without", "exclude_query", "accept", "reject"];
const method = (name: string, options: string[], rest = {}) => ({
  name,
  about: "",
  unit: null,
  whole_clips: false,
  options: [...options, ...ALWAYS],
  threshold_filters: name === "dtw",
  ...rest,
});
const MENU: SearchMenu = {
  methods: [
    method("dtw", ["features", "rank", "steps", "weights"]),
    method("lazy", ["features", "k", "radius"]),
    method("web", ["distance"]),
    method("emd", [], { unit: "degrees" }),
  ],
  features: [{ name: "e15", unit: "m" }],
  distances: [{ name: "jrd", unit: "rad" }],
  labels: [],
  defaults: { k: 256 },
};
const text = (usual: string) => ({ type: "string", default: usual });
const optional = (schema: JsonSchema) => ({ anyOf: [schema, { type: "null" }] });
const list = { type: "array", default: [] };
const QUERY = {
  query: { type: "string" },
  method: text("dtw"),
  features: text("e15"),
  distance: text("pc11"),
  k: optional({ type: "integer" }),
  radius: optional({ type: "number" }),
  max: { type: "integer", default: 100 },
  max_distance: optional({ type: "number" }),
  ...{ within: list, only: list, without: list, accept: list, reject: list },
  steps: { enum: ["slope", "classic"], default: "slope" },
};
const flag = { type: "boolean", default: false };
const search = { ...QUERY, rank: optional({ enum: ["movement", "distance"] }), exclude_query: flag, mirror: flag };
const tiers = { anyOf: [{ type: "integer" }, { const: "all" }], default: "all" };
const family = { ...QUERY, tiers, apart: { type: "number", default: 0.2 } };
useSettings({ SearchRequest: { properties: search }, FamilyRequest: { properties: family } });
const DEFAULTS = defaultSettings();
const studio = (selection: Studio["selection"] = null) => ({ selection, replaceQuery: vi.fn() }) as unknown as Studio;

describe("search settings", () => {
  it("come from the address and go there again", () => {
    const query = { query: "a:1-9", method: "lazy", k: "64", within: "walk,run", exclude_query: "1", steps: "classic" };
    const settings = settingsOf(studio(), query);
    expect(settings).toMatchObject({ k: 64, within: ["walk", "run"], exclude_query: true, max: 100 });
    expect(addressOf(settings)).toEqual(query);
    expect(addressOf(DEFAULTS)).toEqual({});
  });
  it("ignore what is not a number", () => expect(settingsOf(studio(), { k: "many" }).k).toBeNull());
  it("take the selected segment as the query, and put it into the address", () => {
    const selecting = studio({ motion: "walk", start: 1, end: 9 });
    expect(settingsOf(selecting, {}).query).toBe("walk:1-9");
    expect(selecting.replaceQuery).toHaveBeenCalledWith({ query: "walk:1-9" });
  });
  it("are sent as far as the method takes them", () => {
    const settings = { ...DEFAULTS, query: "a:1-9", k: 8, method: "lazy", rank: "distance" as const };
    const common = {
      query: "a:1-9",
      method: "lazy",
      features: "e15",
      k: 8,
      max: 100,
      within: [],
      only: [],
      without: [],
      accept: [],
      reject: [],
    };
    expect(searchBody(MENU, settings)).toEqual({ ...common, exclude_query: false });
    expect(familyBody(MENU, { ...settings, tiers: 2 })).toEqual({ ...common, tiers: 2, apart: 0.2 });
    expect(familyBody(MENU, { ...settings, max_distance: 0.1 })).toMatchObject({ join_distance: 0.1 });
    expect(searchBody(MENU, { ...settings, reject: ["b:0-9"] })).toMatchObject({ reject: ["b:0-9"] });
  });
  it("have the unit of their features, distance or method", () => {
    expect(unitOf(MENU, DEFAULTS)).toBe("m");
    expect(unitOf(MENU, { ...DEFAULTS, method: "web", distance: "jrd" })).toBe("rad");
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
