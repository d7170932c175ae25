// Characters seen from above: a disc around each agent, the outline of its bodies, its recent path.

import type { Header, Unpacked } from "./packed";
import type { Ink } from "./ink";

export interface FloorHeader extends Header {
  agents: number;
  bodies: number; // of an agent
  radius: number;
  room: [number, number] | null;
  columns: [number, number, number][];
  line: [number, number][];
  low: [number, number];
  high: [number, number];
  colors: string[];
  outline: [number, number][];
  /** Seconds of the path that are drawn; 0: all of it, before and after. */
  trail: number;
  /** Frames that are marked on the path. */
  marks: number[];
}

const CENTIMETERS = 100;
const MILLIRADIANS = 1000;
const STEP = 0.1; // seconds between points of a path

export class FloorScene {
  readonly duration: number;
  readonly aspect: number;
  private readonly header: FloorHeader;
  private readonly values: Int32Array; // (agents, bodies, 3, frames): x, z, yaw

  constructor({ header, values }: Unpacked<FloorHeader>) {
    this.header = header;
    this.values = values;
    this.duration = Math.max(header.frames - 1, 0) / header.fps;
    this.aspect = (header.high[0] - header.low[0]) / (header.high[1] - header.low[1]);
  }

  reset(): void {}
  turn(): void {}
  magnify(): void {}

  draw(pen: CanvasRenderingContext2D, seconds: number, ink: Ink): void {
    const { header } = this;
    const { low, high } = header;
    const { width, height } = pen.canvas;
    const scale = Math.min(width / (high[0] - low[0]), height / (high[1] - low[1]));
    pen.save();
    pen.translate(width / 2, height / 2);
    pen.scale(scale, scale);
    pen.translate(-(low[0] + high[0]) / 2, -(low[1] + high[1]) / 2);
    pen.lineJoin = pen.lineCap = "round";
    const pixel = Math.min(devicePixelRatio || 1, 2) / scale;
    this.drawFloor(pen, ink, pixel);
    for (let agent = 0; agent < header.agents; agent++) this.drawAgent(pen, agent, seconds, pixel, ink);
    pen.restore();
  }

  /** x, z and yaw of a body. */
  private place(agent: number, body: number, seconds: number): [number, number, number] {
    const { frames, fps, bodies } = this.header;
    const exact = Math.min(Math.max(seconds * fps, 0), frames - 1);
    const before = Math.floor(exact);
    const after = Math.min(before + 1, frames - 1);
    const row = 3 * (agent * bodies + body) * frames;
    const [x, z, yaw] = [0, 1, 2].map((c) => {
      const from = this.values[row + c * frames + before];
      return from + (exact - before) * (this.values[row + c * frames + after] - from);
    });
    return [x / CENTIMETERS, z / CENTIMETERS, yaw / MILLIRADIANS];
  }

  private middle(agent: number, seconds: number): [number, number] {
    const { bodies } = this.header;
    const places = Array.from({ length: bodies }, (_, body) => this.place(agent, body, seconds));
    const mean = (c: number) => places.reduce((sum, one) => sum + one[c], 0) / bodies;
    return [mean(0), mean(1)];
  }

  private drawFloor(pen: CanvasRenderingContext2D, ink: Ink, pixel: number): void {
    const { room, columns, line } = this.header;
    pen.strokeStyle = ink.wall;
    pen.lineWidth = 2 * pixel;
    if (room) pen.strokeRect(-room[0] / 2, -room[1] / 2, room[0], room[1]);
    pen.fillStyle = ink.column;
    for (const [x, z, radius] of columns) {
      disc(pen, x, z, radius);
      pen.fill();
    }
    pen.strokeStyle = ink.street;
    pen.lineWidth = 4 * pixel;
    pen.beginPath();
    for (const [x, z] of line) pen.lineTo(x, z);
    pen.stroke();
  }

  private drawAgent(pen: CanvasRenderingContext2D, agent: number, seconds: number, pixel: number, ink: Ink): void {
    const { header } = this;
    const color = header.colors[agent % header.colors.length];
    pen.strokeStyle = pen.fillStyle = color;
    pen.lineWidth = 1.4 * pixel;
    pen.globalAlpha = 0.6;
    pen.beginPath();
    const [from, to] = header.trail ? [Math.max(0, seconds - header.trail), seconds] : [0, this.duration];
    for (let then = from; then < to; then += STEP) pen.lineTo(...this.middle(agent, then));
    pen.lineTo(...this.middle(agent, to));
    pen.stroke();
    if (header.marks.length) {
      pen.fillStyle = `rgb(${ink.right})`;
      for (const mark of header.marks) {
        disc(pen, ...this.middle(agent, mark / header.fps), 2 * pixel);
        pen.fill();
      }
      pen.fillStyle = color;
    }
    if (header.radius) {
      disc(pen, ...this.middle(agent, seconds), header.radius);
      pen.globalAlpha = 0.18;
      pen.fill();
      pen.globalAlpha = 1;
      pen.stroke();
    }
    for (let body = 0; body < header.bodies; body++) {
      const [x, z, yaw] = this.place(agent, body, seconds);
      const [cos, sin] = [Math.cos(yaw), Math.sin(yaw)];
      pen.globalAlpha = body === 0 ? 1 : 0.55;
      pen.beginPath();
      for (const [left, ahead] of header.outline)
        pen.lineTo(x + cos * left + sin * ahead, z - sin * left + cos * ahead);
      pen.closePath();
      pen.fill();
    }
    pen.globalAlpha = 1;
  }
}

function disc(pen: CanvasRenderingContext2D, x: number, z: number, radius: number): void {
  pen.beginPath();
  pen.arc(x, z, radius, 0, 2 * Math.PI);
}
