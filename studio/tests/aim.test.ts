import { describe, expect, it, vi } from "vitest";
import { movingJoint } from "../src/aim/moving-joint";

vi.hoisted(() => Object.assign(globalThis, { addEventListener: () => {}, IntersectionObserver: class {} }));
const { freeName } = await import("../src/aim/aim-form");

const ROLES = { hips: 0, right_ankle: 1, left_ankle: 2, right_wrist: 3, left_wrist: 4 };

/** A motion of 21 frames in which the body walks on, and one joint goes out and returns. */
function motion(moving: number) {
  const frames = 21;
  const positions = new Float32Array(frames * 5 * 3);
  for (let frame = 0; frame < frames; frame++)
    for (let joint = 0; joint < 5; joint++) {
      const out = joint === moving ? Math.sin((Math.PI * frame) / (frames - 1)) : 0;
      positions.set([joint, 1 + out, frame], (frame * 5 + joint) * 3);
    }
  return { positions, parents: [-1, 0, 0, 0, 0], roles: ROLES };
}

describe("the joint to aim", () => {
  it("is the one that goes out and returns, however far the body walks", () => {
    expect([1, 2, 3, 4].map((joint) => movingJoint(motion(joint), 0, 21))).toEqual([
      "right_ankle",
      "left_ankle",
      "right_wrist",
      "left_wrist",
    ]);
  });
  it("is found within the segment", () => {
    const one = motion(4);
    for (let frame = 12; frame < 20; frame++) one.positions[(frame * 5 + 1) * 3] += 9; // later
    expect(movingJoint(one, 0, 11)).toBe("left_wrist");
    expect(movingJoint(one, 0, 21)).toBe("right_ankle");
  });
});

describe("names of parametric motions", () => {
  it("are unused, so that a second one does not replace the first", () => {
    expect(freeName("kick", [])).toBe("kick");
    expect(freeName("kick", ["kick", "kick 2", "kick 4"])).toBe("kick 3");
  });
});
