import { describe, expect, it, vi } from "vitest";
import { frameNumbers, subsample } from "../src/motion/aligned";
import { rowOf, type MotionData } from "../src/motion/motion";
import { StreamedMotion } from "../src/motion/streamed";
import { Character } from "../src/stage/character";
import { Clock } from "../src/stage/clock";
import { planOf } from "../src/stage/figure";
import { meanDistanceToPath } from "../src/stage/floor";
import { speedOf, timeLabel } from "../src/timeline/strips";
import { TimeAxis } from "../src/timeline/time-axis";

const BONES = { joints: ["hips", "knee"], parents: [-1, 0], roles: { hips: 0 } };

describe("frames", () => {
  it("are counted from start to end", () => expect(frameNumbers(3, 6)).toEqual([3, 4, 5]));
  it("are thinned evenly, with both ends", () => {
    expect(subsample(frameNumbers(0, 101), 5)).toEqual([0, 25, 50, 75, 100]);
    expect(subsample([4, 5], 5)).toEqual([4, 5]);
    expect(subsample([4, 5, 6], 1)).toEqual([4]);
  });
});

describe("streamed motion", () => {
  const frames = (count: number, value: number) => ({
    arrays: { positions: new Float32Array(count * 6).fill(value), contacts: new Uint8Array(count * 4).fill(1) },
  });
  it("overwrites the oldest frames", () => {
    const motion = new StreamedMotion("walk", 2, BONES, 2); // room for four frames
    motion.push(frames(3, 1));
    motion.push(frames(3, 2));
    expect([motion.frames, motion.first, motion.capacity]).toEqual([6, 2, 4]);
    expect(rowOf(motion, 5)).toBe(1);
    expect(motion.positions[rowOf(motion, 2) * 6]).toBe(1);
    expect(motion.positions[rowOf(motion, 5) * 6]).toBe(2);
    expect(motion.ahead(2)).toBe(0.5);
  });
  it("keeps the last frames of a message that is too long", () => {
    const motion = new StreamedMotion("walk", 1, BONES, 2);
    const positions = new Float32Array(18).map((_, k) => Math.floor(k / 6));
    motion.push({ arrays: { positions } });
    expect([1, 2].map((frame) => motion.positions[rowOf(motion, frame) * 6])).toEqual([1, 2]);
  });
});

describe("the clock", () => {
  it("loops within the whole or within the loop segment", () => {
    const clock = new Clock();
    clock.setRange(0, 10);
    clock.seek(9.5);
    clock.advance(1);
    expect(clock.time).toBeCloseTo(0.5);
    clock.setLoop([2, 4]);
    clock.seek(3.5);
    clock.advance(1);
    expect(clock.time).toBeCloseTo(2.5);
  });
  it("stops at the end without a loop, and starts again", () => {
    const clock = new Clock();
    clock.setRange(0, 1);
    clock.set({ loop: false, speed: 2 });
    clock.advance(0.75);
    expect([clock.time, clock.playing]).toEqual([1, false]);
    clock.play();
    expect([clock.time, clock.playing]).toEqual([0, true]);
    clock.play(-1);
    expect(clock.time).toBe(1);
  });
  it("does not pass the end of streamed motion", () => {
    const clock = new Clock();
    clock.setRange(0, Infinity);
    clock.limit = 0.4;
    clock.advance(1);
    expect(clock.time).toBe(0.4);
  });
  it("takes its time from the sound", () => {
    const clock = new Clock();
    clock.setRange(0, 10);
    clock.master = () => 3;
    clock.advance(1);
    expect(clock.time).toBe(3);
  });
  it("reports changes, but not the passing of time", () => {
    const clock = new Clock();
    const changed = vi.fn();
    clock.addEventListener("change", changed);
    clock.advance(0.1);
    expect(changed).not.toHaveBeenCalled();
    clock.pause();
    expect(changed).toHaveBeenCalledOnce();
  });
});

describe("the time axis", () => {
  it("maps times to pixels and back", () => {
    const axis = new TimeAxis(50);
    axis.fit(0, 10);
    expect(axis.x(5, 150)).toBe(100);
    expect(axis.time(100, 150)).toBe(5);
  });
  it("zooms around a time within its limits", () => {
    const axis = new TimeAxis(0);
    axis.fit(0, 10);
    axis.zoom(4, 0.5);
    expect([axis.start, axis.end, axis.zoomed]).toEqual([2, 7, true]);
    axis.pan(100);
    expect([axis.start, axis.end]).toEqual([5, 10]);
    axis.reveal(1);
    expect(axis.start).toBe(0.5);
    axis.zoom(4, 100);
    expect([axis.start, axis.end, axis.zoomed]).toEqual([0, 10, false]);
    axis.zoom(4, 1e-9);
    expect(axis.end - axis.start).toBeCloseTo(0.2);
  });
  it("stays where it is when the motion grows, unless all was visible", () => {
    const axis = new TimeAxis(0);
    axis.fit(0, 10);
    axis.fit(0, 20, false);
    expect(axis.end).toBe(20);
    axis.zoom(4, 0.5);
    const { end } = axis;
    axis.fit(0, 40, false);
    expect(axis.end).toBe(end);
  });
});

describe("strips", () => {
  it("label times", () => {
    expect(timeLabel(3, 1)).toBe("3 s");
    expect(timeLabel(0.5, 0.1)).toBe("0.5 s");
    expect(timeLabel(65, 5)).toBe("1:05");
    expect(timeLabel(65.5, 0.5)).toBe("1:05.5");
  });
  it("show the mean speed of the joints", () => {
    const positions = Float32Array.from([0, 0, 0, 0, 1, 0, 0.1, 0, 0, 0, 1.3, 0]);
    const motion: MotionData = { ...BONES, name: "m", fps: 10, frames: 2, positions, contacts: new Uint8Array(8) };
    expect([...speedOf(motion)!].map((one) => one.toFixed(3))).toEqual(["2.000", "2.000"]);
    expect(speedOf({ ...motion, frames: 1 })).toBeNull();
  });
});

describe("figures", () => {
  it("are scaled by the leg", () => {
    const bones = {
      joints: ["hip", "knee", "ankle"],
      parents: [-1, 0, 1],
      roles: { left_hip: 0, left_knee: 1, left_ankle: 2 },
    };
    const plan = planOf(bones, Float32Array.from([0, 0.86, 0, 0, 0.43, 0, 0, 0, 0]));
    expect(plan.size).toBeCloseTo(1);
    expect([...plan.foot]).toEqual([-1, -1, 0]);
  });
  it("have bone matrices that put the bones where the joints are", () => {
    const half = Math.SQRT1_2;
    const motion: MotionData = {
      joints: ["hips", "top"],
      parents: [-1, 0],
      roles: {},
      name: "m",
      fps: 1,
      frames: 2,
      positions: Float32Array.from([1, 0, 0, 1, 1, 0, 1, 0, 0, 2, 0, 0]),
      orientations: Float32Array.from([1, 0, 0, 0, half, 0, 0, -half]), // upright, then lying along x
      contacts: new Uint8Array(8),
    };
    // Made upright at the origin: the hips at (0, 0, 0), the end site at (0, 1, 0).
    const unbind = Float32Array.from([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, -1, 0, 0, 1, 0]);
    const out = new Float32Array(24);
    const one = new Character({ motion }, 0);
    const moved = (point: number, [x, y, z]: number[]) =>
      [0, 1, 2].map((row) => {
        const at = 12 * point + 4 * row;
        return out[at] * x + out[at + 1] * y + out[at + 2] * z + out[at + 3];
      });
    for (const [frame, tip] of [
      [0, [1, 1, 0]],
      [1, [2, 0, 0]],
    ] as const) {
      one.pose(frame);
      one.boneMatrices(unbind, out, 0);
      for (const point of [0, 1])
        moved(point, [0, 1, 0]).forEach((value, axis) => expect(value).toBeCloseTo(tip[axis], 5));
    }
  });
});

describe("paths on the floor", () => {
  it("measure the mean distance of points", () => {
    const path: [number, number][] = [
      [0, 0],
      [4, 0],
    ];
    expect(
      meanDistanceToPath(path, [
        [1, 1],
        [6, 0],
      ]),
    ).toBe(1.5);
    expect(meanDistanceToPath(path, [])).toBe(0);
  });
});
