import { describe, expect, it } from "vitest";
import { matching, type Entry } from "../src/page/palette-entries";

const entry = (title: string, kind = "verb", also = ""): Entry => ({ title, kind, also, run: () => undefined });
const ENTRIES = [
  entry("Draw a path"),
  entry("walk_p0", "take", "walking"),
  entry("Walk", "view", "go along this path, forever"),
  entry("walk", "label (8)"),
  entry("search: maximum distance", "setting", "Matches within this distance."),
  entry("sidewalk", "take"),
];
const titles = (text: string, most = 9) => matching(ENTRIES, text, most).map((one) => one.title);

describe("the palette", () => {
  it("finds by the beginning of any word, and by more than is shown", () => {
    expect(titles("path")).toEqual(["Draw a path", "Walk"]);
    expect(titles("dist max")).toEqual(["search: maximum distance"]);
    expect(titles("forever")).toEqual(["Walk"]);
  });
  it("has the best first: the beginning of the title, then of words, then the middle", () => {
    expect(titles("walk")).toEqual(["Walk", "walk", "walk_p0", "sidewalk"]);
  });
  it("finds a kind", () => expect(titles("walk take")).toEqual(["walk_p0", "sidewalk"]));
  it("needs every word", () => expect(titles("walk nowhere")).toEqual([]));
  it("shows the first if nothing is typed, and not more than asked", () => {
    expect(titles("", 2)).toHaveLength(2);
    expect(titles("walk", 2)).toEqual(["Walk", "walk"]);
  });
});
