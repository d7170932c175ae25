// Sound that leads the picture: an audio element, or notes that are synthesized.

import type { Clock } from "../stage/clock";

const LATE = 0.2; // seconds between sound and picture before the sound jumps
const DRUM = 0.07; // seconds
const LEAD = 0.05; // seconds from the click to the first note, so that it is not cut
const LOUD = 0.22; // of a note at full velocity; about ten sound at once

export type Note = [start: number, seconds: number, pitch: number, loudness: number];

export interface Sound {
  /** Audible time in seconds; null while nothing plays. */
  time: number | null;
  /** Start, stop or jump like the clock. */
  follow(clock: Clock): void;
  stop(): void;
}

export class ElementSound implements Sound {
  constructor(private readonly sound: HTMLAudioElement) {}

  get time(): number | null {
    const { sound } = this;
    return sound.paused || sound.ended ? null : sound.currentTime;
  }

  follow({ speed, time, playing }: Clock): void {
    const { sound } = this;
    sound.playbackRate = speed;
    if (Math.abs(sound.currentTime - time) > LATE || !playing) sound.currentTime = time;
    if (playing) void sound.play();
    else sound.pause();
  }

  stop(): void {
    this.sound.pause();
  }
}

/** Notes played by oscillators: a plucked triangle for a pitch, a burst of noise for a drum (pitch 0). */
export class NoteSound implements Sound {
  private context: AudioContext | null = null;
  private volume: GainNode | null = null; // of what plays now; null: nothing
  private noise: AudioBuffer | null = null;
  private startedAt = 0;
  private offset = 0;
  private rate = 1;

  constructor(private readonly notes: Note[]) {}

  get time(): number | null {
    const { context, volume } = this;
    if (!context || !volume || context.state !== "running") return null;
    const passed = context.currentTime - (context.outputLatency || 0) - this.startedAt;
    return this.offset + Math.max(passed, 0) * this.rate;
  }

  follow({ playing, time, speed }: Clock): void {
    if (!playing) return this.stop();
    const audible = this.time;
    if (audible !== null && Math.abs(audible - time) < LATE && speed === this.rate) return;
    if (audible === null && this.volume && this.context?.state === "suspended") return; // until the browser allows it
    this.stop();
    this.context ??= new AudioContext(); // browsers allow sound only after a click
    void this.context.resume();
    [this.offset, this.rate, this.startedAt] = [time, speed, this.context.currentTime + LEAD];
    this.volume = this.context.createGain();
    this.volume.connect(this.context.destination);
    for (const note of this.notes) if (note[0] >= time) this.play(this.context, this.volume, note);
  }

  stop(): void {
    this.volume?.disconnect();
    this.volume = null;
  }

  private play(context: AudioContext, volume: GainNode, [start, seconds, pitch, loudness]: Note): void {
    const at = this.startedAt + (start - this.offset) / this.rate;
    const length = Math.max((pitch ? seconds : DRUM) / this.rate, 0.03);
    const gain = context.createGain();
    gain.gain.setValueAtTime(0, at);
    gain.gain.linearRampToValueAtTime(LOUD * loudness, at + 0.006);
    gain.gain.exponentialRampToValueAtTime(LOUD * loudness * 0.02 + 1e-5, at + length);
    gain.connect(volume);
    const source = pitch ? context.createOscillator() : context.createBufferSource();
    if (source instanceof OscillatorNode) {
      source.type = "triangle";
      source.frequency.value = 440 * 2 ** ((pitch - 69) / 12);
    } else source.buffer = this.noise ??= noiseOf(context);
    source.connect(gain);
    source.start(at);
    source.stop(at + length);
  }
}

function noiseOf(context: AudioContext): AudioBuffer {
  const buffer = context.createBuffer(1, Math.ceil(2 * DRUM * context.sampleRate), context.sampleRate);
  const samples = buffer.getChannelData(0);
  let state = 1;
  for (let k = 0; k < samples.length; k++) {
    state = (state * 48271) % 2147483647;
    samples[k] = state / 1073741823.5 - 1;
  }
  return buffer;
}
