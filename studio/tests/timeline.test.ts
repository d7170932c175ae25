import { describe, expect, it } from "vitest";
import type { MotionData } from "../src/motion/motion";
import { choices, curveOf, pointsOf, rangeOf, trackName } from "../src/timeline/curves";
import { parseTime, timeCode, timeText } from "../src/timeline/time-code";

describe("time codes", () => {
  it("count minutes, seconds and frames at the rate of the motion", () => {
    expect(timeCode(0, 30)).toBe("00:00:00");
    expect(timeCode(95, 30)).toBe("00:03:05");
    expect(timeCode(30 * 3661 + 7, 30)).toBe("01:01:01:07");
    expect(timeCode(119, 120)).toBe("00:00:119");
    expect(timeCode(30, 29.97)).toBe("00:01:00");
  });
  it("are one of three ways to write a time", () => {
    expect(timeText(95, 30, "frames")).toBe("95");
    expect(timeText(95, 30, "seconds")).toBe("3.17 s");
    expect(timeText(95, 30, "time code")).toBe("00:03:05");
  });
  it("are read as they are written", () => {
    for (const fps of [24, 29.97, 30, 60, 120])
      for (const frame of [0, 1, 29, 59, 1799, 123456]) {
        expect(parseTime(timeCode(frame, fps), fps, "frames")).toBe(frame);
        expect(parseTime(timeText(frame, fps, "frames"), fps, "frames")).toBe(frame);
      }
  });
  it("are parsed from frames, seconds and minutes", () => {
    expect(parseTime(" 123 ", 30, "frames")).toBe(123);
    expect(parseTime("2", 30, "seconds")).toBe(60);
    expect(parseTime("2", 30, "time code")).toBe(2);
    expect(parseTime("2 s", 30, "frames")).toBe(60);
    expect(parseTime("1.5", 30, "frames")).toBe(45);
    expect(parseTime("12f", 30, "seconds")).toBe(12);
    expect(parseTime("1:02", 30, "frames")).toBe(62 * 30);
  });
  it("are refused if they are none", () => {
    for (const text of ["", "soon", "-3", "1:2:3:4:5", "0:61:00", "0:00:30", "1:75", "1e3"])
      expect(parseTime(text, 30, "frames")).toBeNull();
  });
});

/** A leg: hips, knee, ankle. The knee is straight, then bent by 90 degrees; the ankle is lifted by 1 m in 0.5 s. */
const LEG: MotionData = {
  name: "leg",
  fps: 2,
  frames: 2,
  joints: ["pelvis", "shin", "foot"],
  parents: [-1, 0, 1],
  roles: { left_knee: 1, right_knee: 1, left_ankle: 2 },
  positions: new Float32Array([0, 2, 0, 0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 1, 0, 0, 1, 1]),
  orientations: new Float32Array([
    1,
    0,
    0,
    0,
    1,
    0,
    0,
    0,
    1,
    0,
    0,
    0,
    1,
    0,
    0,
    0,
    0.5 ** 0.5,
    0.5 ** 0.5,
    0,
    0,
    1,
    0,
    0,
    0,
  ]),
  contacts: new Uint8Array(8),
};

describe("curves", () => {
  it("are heights and speeds of points", () => {
    expect([...curveOf(LEG, "height", 2)]).toEqual([0, 1]);
    const [first, second] = curveOf(LEG, "speed", 2);
    expect(second).toBeCloseTo(2 * Math.SQRT2);
    expect(first).toBe(second); // no frame before it
  });
  it("are angles between bones, and of joints against their parents", () => {
    const [straight, bent] = curveOf(LEG, "bend", 1);
    expect(straight).toBeCloseTo(0);
    expect(bent).toBeCloseTo(90);
    expect(curveOf(LEG, "rotation", 1)[1]).toBeCloseTo(90);
    expect(curveOf(LEG, "bend", 0)[0]).toBeNaN(); // nothing above it
  });
  it("are chosen by pairs, roles and joints", () => {
    expect(pointsOf({ kind: "height", of: "pair:knee" }, LEG)).toEqual([1, 1]);
    expect(pointsOf({ kind: "height", of: "pair:ankle" }, LEG)).toEqual([]); // one side only
    expect(pointsOf({ kind: "height", of: "role:left_ankle" }, LEG)).toEqual([2]);
    expect(pointsOf({ kind: "height", of: "joint:pelvis" }, LEG)).toEqual([0]);
    expect(pointsOf({ kind: "height", of: "joint:tail" }, LEG)).toEqual([]);
    const [pairs, roles, joints] = choices(LEG).map(([, entries]) => entries.map(([of]) => of));
    expect(pairs).toEqual(["pair:knee"]);
    expect(roles).toContain("role:left_ankle");
    expect(joints).toEqual(["joint:pelvis"]);
    expect(trackName({ kind: "speed", of: "pair:foot" })).toBe("feet");
  });
  it("have a range, also where nothing changes", () => {
    expect(rangeOf([new Float32Array([1, 3]), new Float32Array([-2, NaN])])).toEqual([-2, 3]);
    expect(rangeOf([new Float32Array([1, 1])])!.map((value) => value.toFixed(2))).toEqual(["0.99", "1.01"]);
    expect(rangeOf([])).toBeNull();
    expect(rangeOf([new Float32Array([NaN])])).toBeNull();
  });
});
