import { describe, expect, it } from "vitest";
import { limited, limits } from "../src/page/layout";
import { facingOf, turnBetween, viewDirection } from "../src/stage/facing";
import { paneCount, panesOf } from "../src/stage/panes";

describe("facing", () => {
  const roles = { left_hip: 0, right_hip: 1 };
  it("is across the line of the hips", () => {
    expect(facingOf([1, 1, 0, -1, 1, 0], roles)).toBeCloseTo(0); // +Z: the left is at +X
    expect(facingOf([0, 1, -1, 0, 1, 1], roles)).toBeCloseTo(Math.PI / 2); // +X: the left is at -Z
    expect(Math.abs(facingOf([-1, 1, 0, 1, 1, 0], roles)!)).toBeCloseTo(Math.PI);
  });
  it("is not known without sides", () => {
    expect(facingOf([0, 0, 0], { hips: 0 })).toBeNull();
    expect(facingOf([0, 1, 0, 0, 1, 0], roles)).toBeNull(); // as while lying on the side
  });
  it("is seen from the front, the side, behind and above", () => {
    const from = (view: Parameters<typeof viewDirection>[0], facing: number) =>
      viewDirection(view, facing).map((value) => Math.round(value) + 0);
    expect(from("front", Math.PI / 2)).toEqual([1, 0, 0]);
    expect(from("back", Math.PI / 2)).toEqual([-1, 0, 0]);
    expect(from("right", 0)).toEqual([-1, 0, 0]); // facing +Z, the right hand is at -X
    expect(from("left", 0)).toEqual([1, 0, 0]);
    expect(from("top", 1)).toEqual([0, 1, 0]);
  });
  it("turns the short way", () => {
    expect(turnBetween(0.1, -0.1)).toBeCloseTo(-0.2);
    expect(turnBetween(3, -3)).toBeCloseTo(2 * Math.PI - 6);
  });
});

describe("panes", () => {
  it("cover the canvas", () => {
    for (const split of ["one", "two", "four", "each"] as const)
      for (const aspect of [0.5, 2])
        for (const titles of [[], ["a", "b"], ["a", "b", "c"]]) {
          const panes = panesOf(split, titles, aspect);
          expect(panes).toHaveLength(paneCount(split, titles.length));
          expect(panes.reduce((sum, one) => sum + one.width * one.height, 0)).toBeCloseTo(1);
        }
  });
  it("are side by side on a wide stage, one below the other on a narrow one", () => {
    expect(panesOf("two", [], 2).map(({ x, y }) => [x, y])).toEqual([[0, 0], [0.5, 0]]); // prettier-ignore
    expect(panesOf("two", [], 0.5).map(({ x, y }) => [x, y])).toEqual([[0, 0], [0, 0.5]]); // prettier-ignore
  });
  it("show each character by itself, if there are two to four", () => {
    expect(panesOf("each", ["query", "match"], 2).map((one) => one.character)).toEqual([0, 1]);
    expect(paneCount("each", 1)).toBe(1);
    expect(paneCount("each", 40)).toBe(1);
    expect(panesOf("each", ["a"], 2)[0].character).toBeNull();
  });
});

describe("sizes of panels", () => {
  it("leave room for the stage, and can be used", () => {
    expect(limited("panel", 5000, 1440)).toBe(1440 - 320);
    expect(limited("panel", 10, 1440)).toBe(240);
    expect(limited("timeline", 333.3, 900)).toBe(333);
    const [low, high] = limits("panel", 300); // a tiny window
    expect(high).toBe(low);
  });
});
