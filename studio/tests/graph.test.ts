import { describe, expect, it } from "vitest";
import { transitionPairs, transitionText, type DrawnGraph } from "../src/graph/arcs";
import { graphSettings } from "../src/graph/graph-form";
import { useSettings } from "../src/net/settings-schema";
import { niceStep, visibleCells } from "../src/grid/grid-map";
import { colorAt } from "../src/grid/heat-map";
import { bounds } from "../src/aim/target";

const GRAPH: DrawnGraph = {
  names: ["a", "b"],
  frames: [50, 60],
  fps: 30,
  playable: ["a", "b"],
  states: ["played"],
  source: Int32Array.from([0, 10, 1, 20, 1, 5]),
  target: Int32Array.from([1, 20, 0, 10, 1, 2]),
  errors: Float32Array.from([0.5, 0.5, 0.25]),
  state: new Uint8Array(3),
};

describe("motion graphs", () => {
  it("show both directions of a transition as one pair", () => {
    expect(transitionPairs(GRAPH)).toEqual([
      { a: 0, i: 10, b: 1, j: 20, error: 0.5, forward: 0, backward: 1 },
      { a: 1, i: 2, b: 1, j: 5, error: 0.25, forward: -1, backward: 2 },
    ]);
  });
  it("write transitions as the command line does", () => expect(transitionText(GRAPH, 1)).toBe("b:20,a:10"));
  it("read their settings from the address", () => {
    const list = { type: ["array", "null"], items: { type: "string" }, default: null };
    const number = { type: "number" };
    const fields = {
      label: list,
      only: list,
      max_distance: { type: ["number", "null"], default: null },
      per_minute: { ...number, default: 60 },
      rules: { type: "object", properties: { blend_seconds: number }, default: {} },
    };
    useSettings({ GraphSettings: { properties: fields } });
    expect(graphSettings({ only: "a, b,", per_minute: "90", "rules.blend_seconds": "0.5", seed: "3" })).toEqual({
      only: ["a", "b"],
      per_minute: 90,
      rules: { blend_seconds: 0.5 },
    });
    expect(graphSettings({ label: "walk", max_distance: "0.2", per_minute: "90" })).toEqual({
      label: ["walk"],
      max_distance: 0.2,
    });
  });
});

describe("distance grids", () => {
  it("color small distances bright", () => {
    expect(colorAt(0)).toEqual([252, 255, 164]);
    expect(colorAt(2)).toEqual([7, 5, 27]);
  });
  it("zoom and pan", () => {
    const base = { column: 10, row: 20, columns: 40, rows: 60 };
    const size = { width: 400, height: 300 }; // 46 pixels of axis to the left
    expect(visibleCells(base, { k: 1, x: 0, y: 0 }, size)).toEqual(base);
    expect(visibleCells(base, { k: 1, x: 100, y: 30 }, size)).toEqual({ ...base, column: 0, row: 26 });
    const center = { k: 2, x: -246, y: -150 }; // around the middle of the grid
    expect(visibleCells(base, center, size)).toEqual({ column: 20, row: 35, columns: 20, rows: 30 });
  });
  it("have axes with round steps", () => {
    expect([0.3, 1, 1.5, 4, 7, 30].map(niceStep)).toEqual([1, 1, 2, 5, 10, 50]);
  });
});

describe("scatter plots", () => {
  it("span the values of each axis", () => {
    const values = Float32Array.from([1, 10, -2, 30, 0, 20]);
    expect([bounds(values, 0, 2), bounds(values, 1, 2)]).toEqual([
      [-2, 1],
      [10, 30],
    ]);
  });
});
