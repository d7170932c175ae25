// Beats of the music (top) and of the motion (bottom), around the current time.

import { LitElement, css, html } from "lit";
import { customElement, property, query } from "lit/decorators.js";
import { sharedStyles } from "../page/style";
import { color } from "../page/theme";

const SHOWN = 8; // visible seconds
const HEIGHT = 84;

@customElement("loom-beats")
export class BeatStrip extends LitElement {
  @property({ attribute: false }) music: number[] = [];
  @property({ attribute: false }) motion: number[] = [];
  @property({ attribute: false }) downbeats: number[] = [];
  @property({ type: Number }) tolerance = 1 / 30;
  @property({ type: Number }) time = 0;
  @property({ type: Number }) seconds = 0;

  @query("canvas") private canvas!: HTMLCanvasElement;

  static styles = [
    sharedStyles,
    css`
    canvas { width: 100%; height: ${HEIGHT}px; background: var(--well); border-radius: 5px; display: block; }
    p { font-size: 12px; }
    i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin: 0 4px 0 10px; }
    .music { background: var(--cool); margin-left: 0; } .on { background: var(--good); }
    .off { background: linear-gradient(var(--bad) 40%, transparent 40% 60%, var(--bad) 60%); }
  `,
  ];

  protected updated(): void {
    this.paint();
  }

  private paint(): void {
    const { canvas } = this;
    const width = canvas.clientWidth;
    const ratio = devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = HEIGHT * ratio;
    const context = canvas.getContext("2d")!;
    context.scale(ratio, ratio);
    const from = Math.min(Math.max(this.time - SHOWN / 2, 0), Math.max(this.seconds - SHOWN, 0));
    const x = (seconds: number) => ((seconds - from) / SHOWN) * width;
    const shown = (seconds: number) => seconds >= from - 0.1 && seconds <= from + SHOWN + 0.1;
    const line = (at: number, top: number, bottom: number, ink: string, thick: number) => {
      context.strokeStyle = ink;
      context.lineWidth = thick;
      context.beginPath();
      context.moveTo(x(at), top);
      context.lineTo(x(at), bottom);
      context.stroke();
    };
    const down = new Set(this.downbeats);
    this.music.forEach((at, number) => {
      if (shown(at)) line(at, down.has(number) ? 8 : 18, 40, color("cool"), down.has(number) ? 3 : 2);
    });
    for (const at of this.motion.filter(shown)) {
      const off = Math.min(...this.music.map((beat) => Math.abs(beat - at)));
      // Beats that are off are also shorter and have a gap, because color alone is not enough.
      if (off <= this.tolerance + 1e-6) line(at, 44, 68, color("good"), 2);
      else for (const top of [44, 54]) line(at, top, top + 6, color("bad"), 2);
    }
    context.fillStyle = color("faint");
    context.font = "10px system-ui";
    for (let second = Math.ceil(from); second <= from + SHOWN; second++)
      context.fillText(`${second} s`, x(second) + 2, 81);
    line(this.time, 2, HEIGHT, color("accent"), 1.5);
  }

  render() {
    return html`<canvas aria-label="Beats of music and motion"></canvas>
      <p class="faint"><i class="music"></i>music (top)
        <i class="on"></i>motion, within one frame <i class="off"></i>motion, more than one frame off (broken line)</p>`;
  }
}
