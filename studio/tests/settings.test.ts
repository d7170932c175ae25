import { describe, expect, it } from "vitest";
import { settingsFields, useSettings } from "../src/net/settings-schema";
import {
  activeFields,
  bodyOf,
  fromAddress,
  parsed,
  readFields,
  restricted,
  textOf,
  toAddress,
  valuesOf,
  withValues,
  type Field,
  type Schemas,
} from "../src/settings/fields";
import { placeOf, valueAt } from "../src/settings/slider";

const SCHEMAS: Schemas = {
  Dtw: {
    description: "Exact alignment.\n\nMore about it.",
    properties: {
      name: { const: "dtw" },
      features: { type: "string", title: "Features", default: "e15" },
      rank: { anyOf: [{ enum: ["movement", "distance"] }, { type: "null" }] },
    },
  },
  Lazy: {
    properties: {
      name: { const: "lazy" },
      features: { type: "string", default: "e15" },
      k: { type: "integer", minimum: 1, maximum: 1000, default: 256, description: "Neighbors." },
    },
  },
  Expansion: {
    properties: {
      join_distance: { anyOf: [{ type: "number", exclusiveMinimum: 0 }, { type: "null" }], "x-unit": "m" },
      tiers: { type: ["integer", "string"], default: "all" },
      lengths: { type: ["array", "null"], items: { type: "number" }, default: [0.5, 2] },
    },
  },
  Search: {
    properties: {
      method: {
        title: "Search method",
        oneOf: [{ $ref: "#/components/schemas/Dtw" }, { $ref: "#/components/schemas/Lazy" }],
        discriminator: { propertyName: "name" },
        default: { name: "dtw" },
      },
      max_matches: { type: "integer", minimum: 1, title: "Max Matches", default: 100 },
      label: { type: "array", items: { type: "string" }, default: [] },
      mirror: { type: "boolean", default: false },
      expansion: { $ref: "#/components/schemas/Expansion", description: "Matches of matches.", default: { tiers: 3 } },
    },
  },
};
const FIELDS = readFields(SCHEMAS.Search, SCHEMAS);
const all = (fields: Field[]): Field[] =>
  fields.flatMap((one) => [one, ...all(one.fields), ...one.variants.flatMap((each) => all(each.fields))]);
const field = (name: string) => all(FIELDS).find((one) => one.name === name)!;

describe("fields of a schema", () => {
  it("have names, labels, kinds and defaults", () => {
    expect(FIELDS.map(({ name, label, kind }) => [name, label, kind])).toEqual([
      ["method", "Search method", "method"],
      ["max_matches", "max matches", "integer"],
      ["label", "label", "list"],
      ["mirror", "mirror", "check"],
      ["expansion", "expansion", "group"],
    ]);
    expect(valuesOf(FIELDS, {})).toEqual({
      method: "dtw",
      features: "e15",
      rank: null,
      max_matches: 100,
      label: [],
      mirror: false,
      "expansion.join_distance": null,
      "expansion.tiers": 3,
      "expansion.lengths": [0.5, 2],
    });
  });
  it("have limits, units and help", () => {
    expect(field("k")).toMatchObject({ least: 1, most: 1000, help: "Neighbors.", optional: false });
    expect(field("expansion.join_distance")).toMatchObject({ above: 0, unit: "m", optional: true });
    expect(field("expansion").help).toBe("Matches of matches.");
    expect(field("rank")).toMatchObject({ kind: "choice", choices: ["movement", "distance"], optional: true });
  });
  it("include the options of the chosen method only", () => {
    const names = (method: string) => activeFields(FIELDS, { method }).map((one) => one.name);
    expect(names("dtw")).toContain("rank");
    expect(names("lazy")).toContain("k");
    expect(names("lazy")).not.toContain("rank");
    expect(names("unknown")).toEqual(names("dtw"));
    expect(field("method").variants[0].help).toBe("Exact alignment.");
  });
  it("name methods by the mapping of a discriminator, too", () => {
    const mapping = { first: "#/components/schemas/Dtw", second: "#/components/schemas/Lazy" };
    const method = { ...SCHEMAS.Search.properties!.method, discriminator: { propertyName: "name", mapping } };
    expect(readFields({ properties: { method } }, SCHEMAS)[0].variants.map((one) => one.name)).toEqual([
      "first",
      "second",
    ]);
  });
});

describe("values of settings", () => {
  it("are those that differ from the defaults", () => {
    const given = withValues(FIELDS, {}, { method: "lazy", k: 64, mirror: false, label: [] });
    expect(given).toEqual({ method: "lazy", k: 64 });
    expect(withValues(FIELDS, given, { k: 256 })).toEqual({ method: "lazy" });
  });
  it("lose the options of a method with the method", () =>
    expect(withValues(FIELDS, { method: "lazy", k: 64 }, { method: "dtw" })).toEqual({}));
  it("go to the address and come from it", () => {
    const given = { method: "lazy", k: 64, label: ["walk", "run"], mirror: true, "expansion.tiers": 2 };
    const query = { method: "lazy", k: "64", label: "walk,run", mirror: "1", "expansion.tiers": "2" };
    expect(toAddress(given)).toEqual(query);
    expect(fromAddress(FIELDS, { ...query, other: "view" })).toEqual(given);
  });
  it("ignore what is not a value", () => {
    const query = { method: "none", max_matches: "many", k: "3", "expansion.join_distance": "" };
    expect(fromAddress(FIELDS, query)).toEqual({});
  });
  it("are read as their fields demand", () => {
    expect(parsed(field("k"), "2.5")).toBeUndefined();
    expect(parsed(field("k"), "")).toBeUndefined();
    expect(parsed(field("expansion.join_distance"), "")).toBeNull();
    expect(parsed(field("expansion.join_distance"), "0.25")).toBe(0.25);
    expect(parsed(field("expansion.tiers"), "all")).toBe("all");
    expect(parsed(field("expansion.lengths"), "1, 3")).toEqual([1, 3]);
    expect(parsed(field("expansion.lengths"), "1 to 3")).toBeUndefined();
    expect(parsed(field("expansion.lengths"), "")).toBeNull();
    expect(parsed(field("rank"), "")).toBeNull();
    expect(parsed(field("rank"), "size")).toBeUndefined();
    expect(parsed(field("label"), " walk, run,")).toEqual(["walk", "run"]);
    expect([true, false, null, 3].map(textOf)).toEqual(["1", "0", "", "3"]);
  });
  it("are sent in the shape of the schema", () => {
    expect(bodyOf(FIELDS, {})).toEqual({});
    expect(bodyOf(FIELDS, { rank: "distance", "expansion.join_distance": 0.1 })).toEqual({
      method: { name: "dtw", rank: "distance" },
      expansion: { join_distance: 0.1 },
    });
    expect(bodyOf(FIELDS, { method: "lazy", max_matches: 3 })).toEqual({ method: { name: "lazy" }, max_matches: 3 });
  });
});

describe("fields of a form", () => {
  it("are the named ones, with the named options of methods", () => {
    const [method, joined, ...none] = restricted(FIELDS, ["method", "k", "expansion.join_distance", "features", "x"]);
    expect([method.name, joined.name, none.length]).toEqual(["method", "expansion.join_distance", 0]);
    expect(method.variants.map((one) => [one.name, one.fields.map((each) => each.name)])).toEqual([
      ["dtw", ["features"]],
      ["lazy", ["k", "features"]],
    ]);
  });
  it("keep values of other fields out", () => {
    const fields = restricted(FIELDS, ["method", "k"]);
    expect(withValues(fields, { method: "lazy", mirror: true, k: 9 }, {})).toEqual({ method: "lazy", k: 9 });
  });
});

describe("sliders", () => {
  const even = { least: 0, most: 0.4, open: true };
  const ratios = { least: 4, most: 4096, ratios: true };
  const distance = field("expansion.join_distance");
  it("have values at places, and places of values", () => {
    expect(valueAt(even, distance, 0.1)).toBe(0.1);
    expect(placeOf(even, 0.1)).toBe(0.1);
    expect(valueAt(ratios, field("k"), 0.5)).toBe(128);
    expect(placeOf(ratios, 128)).toBeCloseTo(0.5);
  });
  it("have no value at an open end, if the field may have none", () => {
    expect(valueAt(even, distance, 0.4)).toBeNull();
    expect(placeOf(even, null)).toBe(0.4);
    expect(placeOf({ ...even, usual: 0.08 }, null)).toBe(0.08);
    expect(valueAt({ ...even, open: false }, distance, 0.4)).toBe(0.4);
    expect(valueAt({ ...even, most: 1000 }, field("k"), 1000)).toBe(1000); // k must have a value
  });
});

describe("settings of the server", () => {
  it("are chosen by name, all or some in the order of the form", () => {
    useSettings({ GraphSettings: { properties: { a: { type: "integer" }, b: { type: "boolean" } } } });
    expect(settingsFields("graph").map((one) => one.name)).toEqual(["a", "b"]);
    expect(settingsFields("graph", ["b", "x", "a"]).map((one) => one.name)).toEqual(["b", "a"]);
    expect(settingsFields("dance")).toEqual([]);
  });
});
