import { describe, expect, it } from "vitest";
import type { ActedScript } from "../src/net/types";
import { blocksOf, moved, trimmed } from "../src/script/edits";
import { droppedBefore, placed } from "../src/timeline/block-lane";

const row = (number: number, segment: string, start: number, end: number) => ({
  ...{ number, segment, start, end, text: "seen", match: 1, seam: 0 },
});
const phrase = (text: string, ...segments: string[]) => ({
  text,
  near: [],
  options: segments.map((segment) => ({ segment, text: "seen", match: 1 })),
});
const ACTED = {
  script: "walk 3 s, kick, wave twice",
  phrases: [phrase("walk 3 s", "w:0-90"), phrase("kick", "k:10-40", "k2:5-35"), phrase("wave twice", "v:0-30")],
  plan: [
    row(0, "w:0-90", 0, 3),
    row(-1, "b:0-9", 3, 3.3),
    row(1, "k:10-40", 3.3, 4.3),
    row(2, "v:0-30", 4.3, 5.3),
    row(2, "v:0-30", 5.3, 6.3),
  ],
  quality: null,
  lines: { cli: "", python: "" },
} as unknown as ActedScript;
const SCRIPT = { phrases: ACTED.phrases.map((one) => one.text), instead: {} };
const BLOCKS = blocksOf(ACTED, {});
const frames = () => 100;

describe("blocks of a script", () => {
  it("are one for each phrase and bridge, with the segments that can replace it", () => {
    expect(BLOCKS.map(({ text, start, end, bridge }) => [text, start, end, Boolean(bridge)])).toEqual([
      ["walk 3 s", 0, 3, false],
      ["bridge: seen", 3, 3.3, true],
      ["kick", 3.3, 4.3, false],
      ["wave twice", 4.3, 6.3, false],
    ]);
    expect(BLOCKS[2]).toMatchObject({ chosen: "k:10-40", options: [{ value: "k:10-40" }, { value: "k2:5-35" }] });
    expect(blocksOf(ACTED, { 1: "k2:5-35" })[2].chosen).toBe("k2:5-35");
  });
  it("are moved together with the segments chosen for them", () => {
    const script = { ...SCRIPT, instead: { 1: "k2:5-35" } };
    expect(moved(script, 1, 0)).toEqual({ phrases: ["kick", "walk 3 s", "wave twice"], instead: { 0: "k2:5-35" } });
    expect(moved(script, 0, 3)).toEqual({ phrases: ["kick", "wave twice", "walk 3 s"], instead: { 0: "k2:5-35" } });
    expect(moved(script, 1, 2)).toEqual(script);
  });
  it("get another duration if they have one, or if they repeat", () => {
    expect(trimmed(SCRIPT, BLOCKS[0], [0, 1.84], frames).phrases[0]).toBe("walk 1.8 s");
    expect(trimmed(SCRIPT, BLOCKS[0], [0, 0.01], frames).phrases[0]).toBe("walk 0.2 s");
    expect(trimmed(SCRIPT, BLOCKS[3], [4.3, 5.8], frames)).toEqual({
      phrases: ["walk 3 s", "kick", "wave twice 1.5 s"],
      instead: {},
    });
  });
  it("cut or extend their segment, as far as its take goes", () => {
    expect(trimmed(SCRIPT, BLOCKS[2], [3.5, 4.2], frames)).toEqual({ ...SCRIPT, instead: { 1: "k:16-37" } });
    expect(trimmed(SCRIPT, BLOCKS[2], [2.3, 9.3], frames).instead).toEqual({ 1: "k:0-100" });
    const chosen = { ...SCRIPT, instead: { 0: "w:0-60" } }; // instead of the phrase with a duration
    const [block] = blocksOf(ACTED, chosen.instead);
    expect(trimmed(chosen, block, [0, 1.5], frames)).toEqual({ ...SCRIPT, instead: { 0: "w:0-30" } });
  });
});

describe("dragged blocks", () => {
  it("stay at least as long as scripts allow", () => {
    expect(placed({ start: 1, end: 2 }, { part: "end", by: -5 })).toEqual([1, 1.2]);
    expect(placed({ start: 1, end: 2 }, { part: "start", by: 5 })).toEqual([1.8, 2]);
    expect(placed({ start: 1, end: 2 }, { part: "whole", by: 0.5 })).toEqual([1.5, 2.5]);
  });
  it("are dropped between phrases, never between a phrase and its bridge", () => {
    expect(droppedBefore(BLOCKS, 3, 0.1)).toBe(0);
    expect(droppedBefore(BLOCKS, 3, 3.2)).toBe(2);
    expect(droppedBefore(BLOCKS, 0, 9)).toBe(4);
  });
});
