// Drawing of the timeline: ruler, foot contacts, speed, beats, selected segment.

import type { MotionData } from "../motion/motion";
import { rowOf } from "../motion/motion";
import type { Score } from "./block-lane";
import type { TimeAxis } from "./time-axis";
import { color } from "../page/theme";

export const RULER = 20;
export const HEIGHT = 92; // at least
const FEET = [
  { name: "L foot", top: 24, columns: [0, 1] },
  { name: "R foot", top: 37, columns: [2, 3] },
];
const FOOT = 10;
const SPEED = { top: 52, below: 4 }; // takes the remaining height
const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300];

export interface Strips {
  motion: MotionData;
  /** The time of a frame. */
  timeOf: (frame: number) => number;
  speed: Float32Array | null;
  beats: number[];
  sure: boolean;
  /** Beats of the music that a dance is danced to, and of the dance. */
  score?: Score;
  /** Times at which something is wrong. */
  problems?: number[];
}

/** Mean speed of the joints in meters per second; null for streamed or single-frame motion. */
export function speedOf(motion: MotionData): Float32Array | null {
  if (motion.capacity !== undefined || motion.frames < 2) return null;
  const { positions, parents, frames, fps } = motion;
  const width = parents.length * 3;
  const speed = new Float32Array(frames);
  for (let frame = 1; frame < frames; frame++) {
    let gone = 0;
    for (let at = frame * width; at < (frame + 1) * width; at += 3)
      gone += Math.hypot(
        positions[at] - positions[at - width],
        positions[at + 1] - positions[at + 1 - width],
        positions[at + 2] - positions[at + 2 - width],
      );
    speed[frame] = (gone * fps) / parents.length;
  }
  speed[0] = speed[1];
  return speed;
}

/** Everything but the playhead; not drawn for every frame. */
export function drawStrips(
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  axis: TimeAxis,
  strips: Strips | null,
  selected: readonly [number, number] | null,
): void {
  context.clearRect(0, 0, width, height);
  if (!strips) return;
  context.save();
  context.beginPath();
  context.rect(axis.gutter, 0, width - axis.gutter, height);
  context.clip();
  const room = height - SPEED.top - SPEED.below;
  drawRuler(context, width, height, axis);
  drawBeats(context, width, room, axis, strips);
  if (strips.speed) drawSpeed(context, width, room, axis, strips, strips.speed);
  drawFeet(context, width, axis, strips);
  if (strips.score) drawScore(context, width, height, axis, strips.score);
  if (strips.problems) drawProblems(context, width, height, axis, strips.problems);
  if (selected) drawSelected(context, height, axis.x(selected[0], width), axis.x(selected[1], width));
  context.restore();
  drawNames(context, axis, strips);
}

export function drawPlayhead(
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  axis: TimeAxis,
  time: number,
): void {
  context.clearRect(0, 0, width, height);
  const x = axis.x(time, width);
  if (x < axis.gutter - 1 || x > width + 1) return;
  context.fillStyle = color("ink");
  context.fillRect(x - 0.75, 6, 1.5, height - 6);
  context.beginPath();
  context.moveTo(x - 6, 2);
  context.lineTo(x + 6, 2);
  context.lineTo(x + 6, 8);
  context.lineTo(x, 14);
  context.lineTo(x - 6, 8);
  context.fill();
}

function drawRuler(context: CanvasRenderingContext2D, width: number, height: number, axis: TimeAxis): void {
  const perSecond = (width - axis.gutter) / (axis.end - axis.start);
  const step = STEPS.find((one) => one * perSecond >= 70) ?? 600;
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "top";
  for (let k = Math.floor(axis.start / step); k * step <= axis.end; k++) {
    const x = Math.round(axis.x(k * step, width)) + 0.5;
    context.fillStyle = color("edge");
    context.fillRect(x, 0, 1, height);
    context.fillStyle = color("faint");
    const label = timeLabel(k * step, step);
    if (x + 4 + context.measureText(label).width <= width) context.fillText(label, x + 4, 4);
    context.fillStyle = color("line");
    for (let part = 1; part < 5; part++) context.fillRect(axis.x((k + part / 5) * step, width), RULER - 5, 1, 5);
  }
  context.fillStyle = color("line");
  context.fillRect(axis.gutter, RULER, width, 1);
}

export function timeLabel(seconds: number, step: number): string {
  if (seconds < 60) return `${seconds.toFixed(step < 1 ? 1 : 0)} s`;
  const rest = seconds % 60;
  return `${Math.floor(seconds / 60)}:${rest.toFixed(step < 1 ? 1 : 0).padStart(step < 1 ? 4 : 2, "0")}`;
}

/** One block per contact of a foot, brighter while heel and ball both touch the floor. */
function drawFeet(context: CanvasRenderingContext2D, width: number, axis: TimeAxis, { motion, timeOf }: Strips): void {
  const { contacts } = motion;
  const first = motion.first ?? 0;
  for (const { top, columns } of FEET) {
    let began = -1;
    let level = 0;
    const end = (frame: number) => {
      if (level === 0) return;
      const a = axis.x(timeOf(began), width);
      const b = axis.x(timeOf(frame), width);
      if (b < axis.gutter || a > width) return;
      context.fillStyle = level === 2 ? color("cool") : `${color("cool")}99`;
      context.fillRect(a, top, Math.max(b - a, 1), FOOT);
    };
    for (let frame = first; frame < motion.frames; frame++) {
      const row = rowOf(motion, frame) * 4;
      const now = (contacts[row + columns[0]] ? 1 : 0) + (contacts[row + columns[1]] ? 1 : 0);
      if (now !== level) {
        end(frame);
        began = frame;
        level = now;
      }
    }
    end(motion.frames);
  }
}

/** The speed as a filled curve: the maximum under every pixel. */
function drawSpeed(
  context: CanvasRenderingContext2D,
  width: number,
  room: number,
  axis: TimeAxis,
  { timeOf }: Strips,
  speed: Float32Array,
): void {
  let highest = 1e-6;
  for (const one of speed) if (one > highest) highest = one;
  const rate = 1 / Math.max(timeOf(1) - timeOf(0), 1e-9);
  const at = (time: number) => (time - timeOf(0)) * rate;
  const floor = SPEED.top + room;
  context.beginPath();
  context.moveTo(axis.gutter, floor);
  let last = axis.gutter;
  for (let x = axis.gutter; x <= width; x++) {
    const from = at(axis.time(x - 0.5, width));
    const to = at(axis.time(x + 0.5, width));
    if (to < 0 || from > speed.length - 1) continue;
    const whole = Math.max(Math.floor(from), 0);
    const next = Math.min(whole + 1, speed.length - 1);
    let value = speed[whole] + Math.max(from - whole, 0) * (speed[next] - speed[whole]);
    for (let frame = Math.max(Math.ceil(from), 0); frame <= Math.min(to, speed.length - 1); frame++)
      value = Math.max(value, speed[frame]);
    context.lineTo(x, floor - (value / highest) * room);
    last = x;
  }
  context.lineTo(last, floor);
  context.fillStyle = `${color("good")}3d`;
  context.fill();
  context.strokeStyle = color("good");
  context.lineWidth = 1;
  context.stroke();
  context.fillStyle = color("faint");
  context.strokeStyle = color("panel"); // readable on the curve
  context.lineWidth = 4;
  context.lineJoin = "round";
  context.textAlign = "right";
  context.strokeText(`${highest.toFixed(1)} m/s`, width - 4, SPEED.top);
  context.fillText(`${highest.toFixed(1)} m/s`, width - 4, SPEED.top);
  context.textAlign = "left";
}

/** Beat marks; faint where the rhythm is uncertain. */
function drawBeats(
  context: CanvasRenderingContext2D,
  width: number,
  room: number,
  axis: TimeAxis,
  { beats, sure, timeOf }: Strips,
): void {
  context.fillStyle = sure ? color("accent") : `${color("accent")}55`;
  for (const beat of beats) context.fillRect(axis.x(timeOf(0) + beat, width) - 0.75, SPEED.top, 1.5, sure ? room : 10);
}

/** Beats of the music as lines from top to bottom, thicker at the start of a bar; beats of the motion as short marks. */
function drawScore(
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  axis: TimeAxis,
  { music, motion, downbeats, tolerance }: Score,
): void {
  const bars = new Set(downbeats);
  music.forEach((beat, number) => {
    const bar = bars.has(number);
    context.fillStyle = `${color("cool")}${bar ? "aa" : "55"}`;
    context.fillRect(axis.x(beat, width) - (bar ? 1 : 0.5), RULER, bar ? 2 : 1, height - RULER);
  });
  for (const beat of motion) {
    const on = nearest(music, beat) <= tolerance + 1e-6;
    context.fillStyle = color(on ? "good" : "warn");
    const x = axis.x(beat, width);
    // Beats that are off are hollow, because color alone is not enough.
    context.beginPath();
    context.arc(x, height - 6, 3, 0, 2 * Math.PI);
    if (on) context.fill();
    else {
      context.strokeStyle = color("warn");
      context.lineWidth = 1.2;
      context.stroke();
    }
  }
}

/** Distance of a time from the nearest of sorted times. */
export function nearest(times: readonly number[], time: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < time) low = middle + 1;
    else high = middle;
  }
  return Math.min(Math.abs((times[low] ?? Infinity) - time), Math.abs(time - (times[low - 1] ?? -Infinity)));
}

/** A triangle in the ruler and a thin line at every problem. */
function drawProblems(
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  axis: TimeAxis,
  problems: readonly number[],
): void {
  context.fillStyle = color("warn");
  for (const time of problems) {
    const x = axis.x(time, width);
    context.fillRect(x - 0.5, RULER, 1, height - RULER);
    context.beginPath();
    context.moveTo(x, RULER - 9);
    context.lineTo(x + 5, RULER);
    context.lineTo(x - 5, RULER);
    context.fill();
  }
}

function drawSelected(context: CanvasRenderingContext2D, height: number, a: number, b: number): void {
  context.fillStyle = `${color("accent")}26`;
  context.fillRect(a, RULER, b - a, height - RULER);
  context.fillStyle = color("accent");
  context.fillRect(a - 1, RULER, 2, height - RULER);
  context.fillRect(b - 1, RULER, 2, height - RULER);
  for (const x of [a, b]) {
    context.beginPath();
    context.roundRect(x - 3.5, height / 2 + 4, 7, 18, 3);
    context.fill();
  }
}

function drawNames(context: CanvasRenderingContext2D, axis: TimeAxis, strips: Strips): void {
  context.fillStyle = color("faint");
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "right";
  context.textBaseline = "top";
  const right = axis.gutter - 8;
  for (const { name, top } of FEET) context.fillText(name, right, top);
  if (strips.speed) context.fillText("speed", right, SPEED.top + 4);
  if (strips.score) {
    context.fillStyle = color("cool");
    context.fillText("music", right, SPEED.top + 20);
  } else if (strips.beats.length) {
    context.fillStyle = strips.sure ? color("accent") : `${color("accent")}aa`;
    context.fillText(strips.sure ? "beats" : "beats?", right, SPEED.top + 20);
  }
  context.textAlign = "left";
}
