// A scale of the floor at the bottom of the stage, in meters, while it is seen from above.

import type { Stage } from "./stage";

const LENGTHS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50]; // meters
const WIDEST = 160; // pixels

/** Length of a scale bar, in meters: the longest round one that fits. */
export function scaleLength(metersPerPixel: number, widest = WIDEST): number {
  return LENGTHS.findLast((one) => one <= metersPerPixel * widest) ?? LENGTHS[0];
}

export class ScaleBar {
  private readonly bar = document.createElement("div");

  constructor(private readonly stage: Stage) {
    Object.assign(this.bar.style, {
      position: "absolute",
      left: "50%",
      bottom: "52px",
      transform: "translateX(-50%)",
      borderBottom: "2px solid var(--ink)",
      borderInline: "2px solid var(--ink)",
      height: "22px",
      textAlign: "center",
      font: "12px/18px system-ui, sans-serif",
      color: "var(--ink)",
      pointerEvents: "none",
    });
    this.bar.className = "scale";
    this.bar.hidden = true;
    stage.host.append(this.bar);
    stage.addEventListener("frame", this.measure);
  }

  set visible(shown: boolean) {
    this.bar.hidden = !shown;
    this.stage.wake();
  }

  dispose(): void {
    this.stage.removeEventListener("frame", this.measure);
    this.bar.remove();
  }

  private readonly measure = (): void => {
    if (this.bar.hidden) return;
    const { left, top, width, height } = this.stage.canvas.getBoundingClientRect();
    const [x, y] = [left + width / 2, top + height / 2];
    const a = this.stage.floorAt(x - 50, y);
    const b = this.stage.floorAt(x + 50, y);
    if (!a || !b) return;
    const perPixel = a.distanceTo(b) / 100;
    const meters = scaleLength(perPixel);
    this.bar.style.width = `${Math.round(meters / perPixel)}px`;
    this.bar.textContent = `${meters} m`;
  };
}
