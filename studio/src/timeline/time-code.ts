// Times of a motion as frames, seconds or time codes: written, and read as people type them.

export const TIME_UNITS = ["frames", "seconds", "time code"] as const;
export type TimeUnit = (typeof TIME_UNITS)[number];

/** Frames per second of a time code: 30 for 29.97, as in non-drop-frame editing. */
function counted(fps: number): number {
  return Math.max(Math.round(fps), 1);
}

/** A frame as mm:ss:ff, with hours where there are any. */
export function timeCode(frame: number, fps: number): string {
  const rate = counted(fps);
  const digits = Math.max(String(rate - 1).length, 2);
  const seconds = Math.floor(frame / rate);
  const two = (value: number) => String(value).padStart(2, "0");
  const parts = [two(Math.floor(seconds / 60) % 60), two(seconds % 60), String(frame % rate).padStart(digits, "0")];
  return [...(seconds >= 3600 ? [two(Math.floor(seconds / 3600))] : []), ...parts].join(":");
}

/** A frame in a unit. */
export function timeText(frame: number, fps: number, unit: TimeUnit): string {
  if (unit === "frames") return String(frame);
  return unit === "seconds" ? `${(frame / fps).toFixed(2)} s` : timeCode(frame, fps);
}

/** Parse a time into a frame; null if it is invalid. A number without a unit is in `unit`: frames or seconds;
 * `12 f` and `1.5 s` have units, `mm:ss:ff` and `hh:mm:ss:ff` are time codes, `mm:ss` are minutes and seconds. */
export function parseTime(text: string, fps: number, unit: TimeUnit): number | null {
  const given = text.trim().toLowerCase();
  const code = /^(?:(\d+):)?(\d+):(\d{1,2}):(\d+)$/.exec(given);
  if (code) {
    const [hours, minutes, seconds, frames] = code.slice(1).map((part) => Number(part ?? 0));
    const rate = counted(fps);
    return seconds < 60 && frames < rate ? ((hours * 60 + minutes) * 60 + seconds) * rate + frames : null;
  }
  const minutes = /^(\d+):(\d{1,2}(?:\.\d+)?)$/.exec(given);
  if (minutes) return Number(minutes[2]) < 60 ? Math.round((Number(minutes[1]) * 60 + Number(minutes[2])) * fps) : null;
  const number = /^(\d+(?:\.\d*)?|\.\d+)\s*(f|frames?|s|seconds?)?$/.exec(given);
  if (!number) return null;
  const seconds = number[2] ? number[2].startsWith("s") : unit === "seconds" || number[1].includes(".");
  return Math.round(Number(number[1]) * (seconds ? fps : 1));
}
