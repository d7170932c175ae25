// Films of the stage: drawn frame by frame as MP4 or GIF, or recorded by the browser during playback.

import type { Stage } from "./stage";

const TYPES = ["video/mp4;codecs=avc1", "video/webm;codecs=vp9", "video/webm"];
const LONGEST = 120; // seconds
const RATE = 30; // pictures per second
const GIF_RATE = 20; // GIF delays are multiples of 0.01 s; this is five of them
const GIF_WIDTH = 640; // pixels at most
const QUEUE = 6; // pictures that wait for the encoder

/** Codecs for MP4 files, the most widely supported first. */
const CODECS = [
  ["avc1.640034", "avc"],
  ["avc1.42003e", "avc"],
  ["vp09.00.51.08", "vp9"],
  ["av01.0.12M.08", "av1"],
] as const;

export type Progress = (done: number, total: number) => void;

/** True if this browser can encode a film frame by frame, which needs localhost or https. */
export function canFilm(): boolean {
  return typeof VideoEncoder === "function" && typeof VideoFrame === "function";
}

/** Whether this browser can record a canvas. */
export function canRecord(): boolean {
  return typeof MediaRecorder === "function" && "captureStream" in HTMLCanvasElement.prototype;
}

/** Times of the pictures of a film: from the start (of the selected segment, if there is one) to the end. */
export function filmTimes(start: number, end: number, rate: number): number[] {
  const count = Math.max(Math.round((Math.min(end, start + LONGEST) - start) * rate), 1);
  return Array.from({ length: count }, (_, k) => start + k / rate);
}

/** Encode an MP4 film with every frame, no matter how long drawing takes. */
export async function filmStage(stage: Stage, progress: Progress, signal: AbortSignal): Promise<Blob> {
  const { BufferTarget, EncodedPacket, EncodedVideoPacketSource, Mp4OutputFormat, Output } = await import("mediabunny");
  const { canvas } = stage;
  const width = canvas.width & ~1; // encoders want even numbers
  const height = canvas.height & ~1;
  const [codec, name] = await supported(width, height);
  const target = new BufferTarget();
  const film = new Output({ format: new Mp4OutputFormat({ fastStart: "in-memory" }), target });
  const track = new EncodedVideoPacketSource(name);
  film.addVideoTrack(track, { frameRate: RATE });
  await film.start();
  let failure: Error | null = null;
  let written = Promise.resolve();
  const encoder = new VideoEncoder({
    output: (chunk, meta) => {
      const packet = EncodedPacket.fromEncodedChunk(chunk);
      written = written.then(() => track.add(packet, meta)).catch((error: Error) => void (failure = error));
    },
    error: (error) => (failure = error),
  });
  encoder.configure(settings(codec, width, height));
  try {
    await everyPicture(stage, RATE, progress, signal, async (number) => {
      const duration = 1e6 / RATE;
      const timestamp = Math.round(number * duration);
      const picture = new VideoFrame(canvas, { timestamp, duration, visibleRect: { x: 0, y: 0, width, height } });
      encoder.encode(picture, { keyFrame: number % (5 * RATE) === 0 });
      picture.close();
      while (encoder.encodeQueueSize > QUEUE && !failure) await new Promise((resolve) => setTimeout(resolve, 5));
      if (failure) throw failure;
    });
    await encoder.flush();
    await written;
    if (failure) throw failure;
  } finally {
    encoder.close();
  }
  await film.finalize();
  return new Blob([target.buffer!], { type: "video/mp4" });
}

/** A GIF with every picture, at most 640 pixels wide. */
export async function gifOfStage(stage: Stage, progress: Progress, signal: AbortSignal): Promise<Blob> {
  const { GIFEncoder, quantize, applyPalette } = await import("gifenc");
  const { canvas } = stage;
  const share = Math.min(GIF_WIDTH / canvas.width, 1);
  const small = document.createElement("canvas");
  small.width = Math.max(Math.round(canvas.width * share), 1);
  small.height = Math.max(Math.round(canvas.height * share), 1);
  const context = small.getContext("2d", { willReadFrequently: true })!;
  const gif = GIFEncoder();
  await everyPicture(stage, GIF_RATE, progress, signal, async () => {
    context.drawImage(canvas, 0, 0, small.width, small.height);
    const { data } = context.getImageData(0, 0, small.width, small.height);
    const palette = quantize(data, 256);
    gif.writeFrame(applyPalette(data, palette), small.width, small.height, { palette, delay: 1000 / GIF_RATE });
    await new Promise((resolve) => setTimeout(resolve)); // the page stays usable
  });
  gif.finish();
  return new Blob([gif.bytes()], { type: "image/gif" });
}

/** Draw the stage at every time of a film and pass on each picture; then restore the previous state. */
async function everyPicture(
  stage: Stage,
  rate: number,
  progress: Progress,
  signal: AbortSignal,
  take: (number: number) => Promise<void>,
): Promise<void> {
  const { clock } = stage;
  const [start, end] = clock.loopSegment ?? [clock.start, clock.end];
  const before = { time: clock.time, playing: clock.playing, master: clock.master };
  const times = filmTimes(start, end, rate);
  clock.master = null; // no sound
  clock.pause();
  stage.filming = true;
  try {
    for (const [number, time] of times.entries()) {
      signal.throwIfAborted();
      stage.drawFilm(time, number === 0 ? Infinity : 1 / rate);
      await take(number);
      progress(number + 1, times.length);
    }
  } finally {
    stage.filming = false;
    clock.master = before.master;
    clock.seek(before.time);
    if (before.playing) clock.play();
  }
}

async function supported(width: number, height: number): Promise<(typeof CODECS)[number]> {
  for (const one of CODECS) {
    const answer = await VideoEncoder.isConfigSupported(settings(one[0], width, height)).catch(() => null);
    if (answer?.supported) return one;
  }
  throw new Error("This browser cannot encode a film of this size. Make the window smaller, or choose GIF");
}

function settings(codec: string, width: number, height: number): VideoEncoderConfig {
  return { codec, width, height, framerate: RATE, bitrate: Math.round(Math.max(width * height * RATE * 0.12, 2e6)) };
}

/** Play from the start (of the selected segment, if there is one) to the end, and record the canvas in real time. */
export async function recordStage(stage: Stage, signal: AbortSignal): Promise<Blob> {
  const { clock } = stage;
  const canvas = stage.canvas;
  const type = TYPES.find((one) => MediaRecorder.isTypeSupported(one)) ?? "";
  const recorder = new MediaRecorder(canvas.captureStream(RATE), type ? { mimeType: type } : {});
  const parts: Blob[] = [];
  recorder.ondataavailable = (event) => parts.push(event.data);
  const endless = clock.end === Infinity;
  const [start, end] = clock.loopSegment ?? [endless ? clock.time : clock.start, clock.end];
  const until = Math.min(end, start + LONGEST);
  const before = { loop: clock.loop, speed: clock.speed, time: clock.time, playing: clock.playing };
  const stopped = new Promise<void>((resolve) => (recorder.onstop = () => resolve()));
  clock.set({ loop: false, speed: 1 });
  if (!endless) clock.seek(start);
  recorder.start();
  clock.play();
  await new Promise<void>((resolve) => {
    const frame = () => {
      if (clock.time < until - 1e-3 && clock.playing && !signal.aborted) return;
      stage.removeEventListener("frame", frame);
      resolve();
    };
    stage.addEventListener("frame", frame);
  });
  recorder.stop();
  await stopped;
  clock.set({ loop: before.loop, speed: before.speed });
  if (!endless) clock.seek(before.time);
  if (before.playing) clock.play();
  else clock.pause();
  return new Blob(parts, { type: recorder.mimeType });
}
