// The timeline's picture: ruler, feet on the ground, speed, beats, the selected range.

import type { MotionData } from "../motion/motion";
import { rowOf } from "../motion/motion";
import type { Span } from "./time-axis";

export const RULER = 20;
export const HEIGHT = 92;
const FEET = [
  { name: "L foot", top: 24, columns: [0, 1] },
  { name: "R foot", top: 37, columns: [2, 3] },
];
const FOOT = 10;
const SPEED = { top: 52, height: 36 };
const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300];

export interface Strips {
  motion: MotionData;
  /** The time of a frame, and the other way round. */
  timeOf: (frame: number) => number;
  speed: Float32Array | null;
  beats: number[];
  sure: boolean;
}

/** Mean speed of the joints in metres a second, of motion that was made here and now. */
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

/** All but the playhead; drawn when something has changed, not for every frame. */
export function drawStrips(
  pen: CanvasRenderingContext2D,
  width: number,
  span: Span,
  strips: Strips | null,
  selected: readonly [number, number] | null,
): void {
  pen.clearRect(0, 0, width, HEIGHT);
  if (!strips) return;
  pen.save();
  pen.beginPath();
  pen.rect(span.gutter, 0, width - span.gutter, HEIGHT);
  pen.clip();
  drawRuler(pen, width, span);
  if (strips.speed) drawSpeed(pen, width, span, strips, strips.speed);
  drawFeet(pen, width, span, strips);
  drawBeats(pen, width, span, strips);
  if (selected) drawSelected(pen, span.x(selected[0], width), span.x(selected[1], width));
  pen.restore();
  drawNames(pen, span, strips);
}

export function drawPlayhead(pen: CanvasRenderingContext2D, width: number, span: Span, time: number): void {
  pen.clearRect(0, 0, width, HEIGHT);
  const x = span.x(time, width);
  if (x < span.gutter - 1 || x > width + 1) return;
  pen.fillStyle = "#f2f5fa";
  pen.fillRect(x - 0.75, 6, 1.5, HEIGHT - 6);
  pen.beginPath();
  pen.moveTo(x - 6, 2);
  pen.lineTo(x + 6, 2);
  pen.lineTo(x + 6, 8);
  pen.lineTo(x, 14);
  pen.lineTo(x - 6, 8);
  pen.fill();
}

function drawRuler(pen: CanvasRenderingContext2D, width: number, span: Span): void {
  const perSecond = (width - span.gutter) / (span.end - span.start);
  const step = STEPS.find((one) => one * perSecond >= 70) ?? 600;
  pen.font = "11px system-ui, sans-serif";
  pen.textBaseline = "top";
  for (let k = Math.floor(span.start / step); k * step <= span.end; k++) {
    const x = Math.round(span.x(k * step, width)) + 0.5;
    pen.fillStyle = "#3a424f";
    pen.fillRect(x, 0, 1, HEIGHT);
    pen.fillStyle = "#8a93a3";
    pen.fillText(clockText(k * step, step), x + 4, 4);
    pen.fillStyle = "#2c323c";
    for (let part = 1; part < 5; part++) pen.fillRect(span.x((k + part / 5) * step, width), RULER - 5, 1, 5);
  }
  pen.fillStyle = "#2c323c";
  pen.fillRect(span.gutter, RULER, width, 1);
}

function clockText(seconds: number, step: number): string {
  if (seconds < 60) return `${seconds.toFixed(step < 1 ? 1 : 0)} s`;
  const rest = seconds % 60;
  return `${Math.floor(seconds / 60)}:${rest.toFixed(step < 1 ? 1 : 0).padStart(step < 1 ? 4 : 2, "0")}`;
}

/** One block per stand of a foot: brighter while heel and ball both stand. */
function drawFeet(pen: CanvasRenderingContext2D, width: number, span: Span, { motion, timeOf }: Strips): void {
  const { contacts } = motion;
  const first = motion.first ?? 0;
  for (const { top, columns } of FEET) {
    let began = -1;
    let level = 0;
    const end = (frame: number) => {
      if (level === 0) return;
      const a = span.x(timeOf(began), width);
      const b = span.x(timeOf(frame), width);
      if (b < span.gutter || a > width) return;
      pen.fillStyle = level === 2 ? "#4f9fd8" : "#35658a";
      pen.fillRect(a, top, Math.max(b - a, 1), FOOT);
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

/** The curve as a filled shape: the highest speed under every pixel. */
function drawSpeed(
  pen: CanvasRenderingContext2D,
  width: number,
  span: Span,
  { timeOf }: Strips,
  speed: Float32Array,
): void {
  let highest = 1e-6;
  for (const one of speed) if (one > highest) highest = one;
  const rate = 1 / Math.max(timeOf(1) - timeOf(0), 1e-9);
  const at = (time: number) => (time - timeOf(0)) * rate;
  const floor = SPEED.top + SPEED.height;
  pen.beginPath();
  pen.moveTo(span.gutter, floor);
  let last = span.gutter;
  for (let x = span.gutter; x <= width; x++) {
    const from = at(span.time(x - 0.5, width));
    const to = at(span.time(x + 0.5, width));
    if (to < 0 || from > speed.length - 1) continue;
    const whole = Math.max(Math.floor(from), 0);
    const next = Math.min(whole + 1, speed.length - 1);
    let value = speed[whole] + Math.max(from - whole, 0) * (speed[next] - speed[whole]);
    for (let frame = Math.max(Math.ceil(from), 0); frame <= Math.min(to, speed.length - 1); frame++)
      value = Math.max(value, speed[frame]);
    pen.lineTo(x, floor - (value / highest) * SPEED.height);
    last = x;
  }
  pen.lineTo(last, floor);
  pen.fillStyle = "#7cb85c3d";
  pen.fill();
  pen.strokeStyle = "#7cb85c";
  pen.lineWidth = 1;
  pen.stroke();
  pen.fillStyle = "#8a93a3";
  pen.textAlign = "right";
  pen.fillText(`${highest.toFixed(1)} m/s`, width - 4, SPEED.top);
  pen.textAlign = "left";
}

/** Ticks over the speed; faint where the motion has no rhythm to speak of. */
function drawBeats(pen: CanvasRenderingContext2D, width: number, span: Span, { beats, sure, timeOf }: Strips): void {
  pen.fillStyle = sure ? "#e0823d" : "#e0823d55";
  for (const beat of beats)
    pen.fillRect(span.x(timeOf(0) + beat, width) - 0.75, SPEED.top, 1.5, sure ? SPEED.height : 10);
}

function drawSelected(pen: CanvasRenderingContext2D, a: number, b: number): void {
  pen.fillStyle = "#e0823d26";
  pen.fillRect(a, RULER, b - a, HEIGHT - RULER);
  pen.fillStyle = "#e0823d";
  pen.fillRect(a - 1, RULER, 2, HEIGHT - RULER);
  pen.fillRect(b - 1, RULER, 2, HEIGHT - RULER);
  for (const x of [a, b]) {
    pen.beginPath();
    pen.roundRect(x - 3.5, HEIGHT / 2 + 4, 7, 18, 3);
    pen.fill();
  }
}

function drawNames(pen: CanvasRenderingContext2D, span: Span, strips: Strips): void {
  pen.fillStyle = "#8a93a3";
  pen.font = "11px system-ui, sans-serif";
  pen.textAlign = "right";
  pen.textBaseline = "top";
  const right = span.gutter - 8;
  for (const { name, top } of FEET) pen.fillText(name, right, top);
  if (strips.speed) pen.fillText("speed", right, SPEED.top + 4);
  if (strips.beats.length) {
    pen.fillStyle = strips.sure ? "#e0823d" : "#9c6a45";
    pen.fillText(strips.sure ? "beats" : "beats?", right, SPEED.top + 20);
  }
  pen.textAlign = "left";
}
