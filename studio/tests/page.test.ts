import { describe, expect, it, vi } from "vitest";
import { withQuery } from "../src/net/api";
import { pythonLiteral, shellWord } from "../src/page/command-line";
import { counted, durationText } from "../src/page/counts";
import { address, readRoute } from "../src/page/route";
import { Studio, parseSegment, segmentText } from "../src/page/studio";

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

describe("notices", () => {
  const studio = () => {
    vi.useFakeTimers();
    vi.stubGlobal("location", { hash: "", protocol: "http:", host: "here" });
    vi.stubGlobal("window", globalThis);
    return new Studio();
  };
  it("go away after a time to read them", () => {
    const one = studio();
    one.notify(new Error("no such take"));
    expect(one.state.notice.text).toBe("no such take");
    vi.advanceTimersByTime(5000);
    expect(one.state.notice.text).toBe("no such take");
    vi.advanceTimersByTime(5000);
    expect(one.state.notice.text).toBe("");
  });
  it("stay while they are read", () => {
    const one = studio();
    one.notify("no such take");
    one.keepNotice();
    vi.advanceTimersByTime(60_000);
    expect(one.state.notice.text).toBe("no such take");
  });
});

describe("numbers in words", () => {
  it("counts", () => {
    expect(counted(1, "take")).toBe("1 take");
    expect(counted(2425, "take")).toBe("2,425 takes");
  });
  it("tells durations", () => {
    expect(durationText(12.4)).toBe("12 s");
    expect(durationText(8.5 * 60)).toBe("8.5 min");
    expect(durationText(521 * 60)).toBe("8 h 41 min");
  });
});
