import { describe, expect, it } from "vitest";
import { byName, countText, placesOf, segmentCard, sheetOf, stepTo, takeOf, type Card } from "../src/library/card";
import { byNames, differences, merged, namedLike, performerOf, renamed, split } from "../src/library/groups";
import type { Cluster } from "../src/net/types";

const group = (name: string, motions: string[], rest: Partial<Cluster> = {}): Cluster => ({
  name,
  motions,
  kind: "action",
  seconds: motions.length,
  spread: 0,
  rhythmic: false,
  speed: 0,
  turn: 0,
  events: [],
  ...rest,
});
const card = (place: string): Card => ({ place, title: place, facts: "" });

describe("names", () => {
  it("are ordered as people count", () =>
    expect(["135_01", "13_02", "2_1", "13_01"].sort(byName)).toEqual(["2_1", "13_01", "13_02", "135_01"]));
  it("of segments lead to their take, unless a take is called so", () => {
    expect(takeOf("walk:10-20", new Set(["walk"]))).toBe("walk");
    expect(takeOf("walk:10-20", new Set(["walk", "walk:10-20"]))).toBe("walk:10-20");
  });
});

describe("cards", () => {
  it("count takes and segments", () => {
    expect(countText(1, 0)).toBe("1 take");
    expect(countText(0, 2)).toBe("2 segments");
    expect(countText(3, 1)).toBe("3 takes and 1 segment");
    expect(countText(0, 0)).toBe("0 takes");
  });
  it("stand for all takes of a group", () => {
    expect(placesOf({ ...card("a"), takes: ["a", "b"] })).toEqual(["a", "b"]);
    expect(segmentCard({ motion: "walk", start: 30, end: 60 }, 30, "")).toMatchObject({
      place: "walk:30-60",
      facts: "30–60, 1.0 s",
    });
  });
  const sheet = sheetOf(
    [
      { key: "a", cards: ["a1", "a2", "a3", "a4"].map(card) },
      { key: "b", head: () => null as never, cards: ["b1", "b2"].map(card) },
    ],
    3,
    100,
    40,
  );
  it("lie in rows below the head of their section", () => {
    expect(sheet.spots.map(({ top, column }) => [top, column])).toEqual([
      [0, 0],
      [0, 1],
      [0, 2],
      [100, 0],
      [240, 0],
      [240, 1],
    ]);
    expect([sheet.height, sheet.heads[0].top]).toEqual([340, 200]);
  });
  it("of small sections with heads share a shelf", () => {
    const section = (key: string, cards: string[]) => ({ key, head: () => null as never, cards: cards.map(card) });
    const small = sheetOf(
      [section("a", ["a1"]), section("b", ["b1", "b2"]), section("c", ["c1", "c2", "c3"])],
      4,
      100,
      40,
    );
    expect(small.heads.map(({ column, span, top }) => [column, span, top])).toEqual([
      [0, 2, 0],
      [2, 2, 0],
      [0, 3, 140],
    ]);
    expect(small.spots.map(({ card, column }) => [card.place, column])[2]).toEqual(["b2", 3]);
    expect(small.height).toBe(280);
  });
  it("are walked through by arrow keys, also across sections", () => {
    const go = (at: number, key: string) => stepTo(sheet, at, key);
    expect([go(2, "ArrowDown"), go(3, "ArrowDown"), go(5, "ArrowUp"), go(4, "ArrowUp")]).toEqual([3, 4, 3, 3]);
    expect([go(5, "ArrowRight"), go(0, "ArrowLeft"), go(0, "ArrowUp"), go(5, "ArrowDown")]).toEqual([5, 0, 0, 5]);
    expect([go(0, "End"), go(5, "Home"), go(0, "x")]).toEqual([5, 0, -1]);
  });
});

describe("groups", () => {
  const slow = group("walk", ["07_01", "07_02"], { speed: 0.9, events: ["look"] });
  const fast = group("walk", ["08_01", "09_01"], { speed: 1.6, turn: 25, events: ["look", "wave"] });
  const kick = group("kick", ["10_01"]);
  const other = group("", ["11_01", "11_02", "11_03", "11_04", "11_05"]);

  it("of one name are together, the most takes first and those without a name last", () => {
    const names = byNames([other, slow, kick, fast]);
    expect(names.map(({ name, takes }) => [name, takes])).toEqual([
      ["walk", 4],
      ["kick", 1],
      ["", 5],
    ]);
  });
  it("say how they differ from others of their name", () => {
    expect(differences(slow, [slow, fast])).toEqual(["0.9 m/s", "only 07"]);
    expect(differences(fast, [slow, fast])).toEqual(["1.6 m/s", "turns left", "wave"]);
    expect(differences(kick, [kick])).toEqual([]);
    expect(performerOf("86_01")).toBe("86");
  });
  it("are renamed", () =>
    expect(renamed([slow, kick], "walk", "stroll").map((one) => one.name)).toEqual(["stroll", "kick"]));
  it("that were changed get the names of their takes, unless they have one", () => {
    const whole = { ...merged([slow, kick], new Set(["10_01", "07_01"]))[0], name: "" };
    const others = [fast, { ...kick, name: "kick high" }, slow];
    const own = { ...kick, name: "mine" };
    expect(namedLike([own, whole], others).map((one) => one.name)).toEqual(["mine", "walk"]);
    expect(namedLike([{ ...kick, name: "" }], [slow]).map((one) => one.name)).toEqual([""]);
  });
  it("are merged into the largest", () => {
    const [whole, ...rest] = merged([slow, kick, fast], new Set(["10_01", "07_01"]));
    expect(whole.motions).toEqual(["07_01", "07_02", "10_01"]);
    expect([whole.name, whole.seconds, rest]).toEqual(["walk", 3, [fast]]);
    expect(merged([slow, kick], new Set(["10_01"]))).toEqual([slow, kick]);
  });
  it("are split into parts that keep the name", () => {
    const parts = [group("", ["07_01"]), group("turn", ["07_02"])];
    expect(split([slow, kick], "07_01", parts).map((one) => one.name)).toEqual(["walk", "turn", "kick"]);
  });
});
