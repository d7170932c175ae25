import { describe, expect, it, vi } from "vitest";
import { withQuery } from "../src/net/api";
import { pythonLiteral, shellWord } from "../src/page/command-line";
import { address, readRoute } from "../src/page/route";
import { parseSegment, segmentText } from "../src/page/studio";

describe("quoting", () => {
  it("leaves plain words alone", () => expect(shellWord("takes/walk_01:10-60,x=1")).toBe("takes/walk_01:10-60,x=1"));
  it("quotes spaces and quotes for a shell", () => {
    expect(shellWord("my takes")).toBe("'my takes'");
    expect(shellWord("it's")).toBe(`'it'"'"'s'`);
    expect(shellWord("")).toBe("''");
  });
  it("writes Python strings", () => expect(pythonLiteral('a "b"\\')).toBe('"a \\"b\\"\\\\"'));
});

describe("routes", () => {
  const at = (hash: string) => {
    vi.stubGlobal("location", { hash });
    return readRoute();
  };
  it("reads the view and its query", () => {
    expect(at("#/search?query=walk%3A1-9&k=4")).toEqual({ view: "search", query: { query: "walk:1-9", k: "4" } });
    expect(at("")).toEqual({ view: "library", query: {} });
  });
  it("reads what it writes", () => {
    const query = { a: "x y&z", b: "1,2" };
    expect(at(address({ view: "grid", query }))).toEqual({ view: "grid", query });
  });
  it("leaves out empty values and repeats lists", () => {
    expect(withQuery("p", { a: "", b: undefined, c: 0 })).toBe("p?c=0");
    expect(withQuery("p", { names: ["a b", "c"] })).toBe("p?names=a+b&names=c");
    expect(withQuery("p")).toBe("p");
  });
});

describe("segments", () => {
  it("reads NAME:START-END, also with colons in the name", () => {
    expect(parseSegment("walk:10-60")).toEqual({ motion: "walk", start: 10, end: 60 });
    expect(parseSegment("a:b:1-2")).toEqual({ motion: "a:b", start: 1, end: 2 });
    for (const text of ["walk", "walk:10", "walk:-5", ":1-2", ""]) expect(parseSegment(text)).toBeNull();
  });
  it("writes what it reads", () => expect(segmentText(parseSegment("walk:10-60")!)).toBe("walk:10-60"));
});
