// A film of the stage, recorded by the browser while everything on it plays once.

import type { Stage } from "./stage";

const TYPES = ["video/mp4;codecs=avc1", "video/webm;codecs=vp9", "video/webm"];
const LONGEST = 120; // seconds
const RATE = 30; // pictures per second

/** Whether this browser can record a canvas. */
export function canRecord(): boolean {
  return typeof MediaRecorder === "function" && "captureStream" in HTMLCanvasElement.prototype;
}

/** Play from the start (of the selected segment, if there is one) to the end, and record it. */
export async function recordStage(stage: Stage): Promise<Blob> {
  const { clock } = stage;
  const canvas = stage.canvas;
  const type = TYPES.find((one) => MediaRecorder.isTypeSupported(one)) ?? "";
  const recorder = new MediaRecorder(canvas.captureStream(RATE), type ? { mimeType: type } : {});
  const parts: Blob[] = [];
  recorder.ondataavailable = (event) => parts.push(event.data);
  const [start, end] = clock.loopSegment ?? [clock.start, clock.end];
  const until = Math.min(end, start + LONGEST);
  const before = { loop: clock.loop, speed: clock.speed, time: clock.time, playing: clock.playing };
  const stopped = new Promise<void>((resolve) => (recorder.onstop = () => resolve()));
  clock.set({ loop: false, speed: 1 });
  clock.seek(start);
  recorder.start();
  clock.play();
  await new Promise<void>((resolve) => {
    const frame = () => {
      if (clock.time < until - 1e-3 && clock.playing) return;
      stage.removeEventListener("frame", frame);
      resolve();
    };
    stage.addEventListener("frame", frame);
  });
  recorder.stop();
  await stopped;
  clock.set({ loop: before.loop, speed: before.speed });
  clock.seek(before.time);
  if (before.playing) clock.play();
  else clock.pause();
  return new Blob(parts, { type: recorder.mimeType });
}
