// Sound synchronized with the clock of the stage.

import { tracked } from "../net/pending";
import type { Clock } from "../stage/clock";

const MAX_DRIFT = 0.12; // difference between clock and sound that restarts the sound, in seconds

/** Music played in time with the clock. Browsers require a click before the first sound. */
export class SoundTrack {
  private readonly context = new AudioContext();
  private readonly volume = this.context.createGain();
  private buffer?: AudioBuffer;
  private source?: AudioBufferSourceNode;
  private startedAt = 0;
  private offset = 0;
  private rate = 1;

  private constructor(private readonly clock: Clock) {
    this.volume.connect(this.context.destination);
  }

  /** Play a sound with the clock as soon as it is decoded; null if it is no longer needed by then. */
  static async start(
    clock: Clock,
    sound: Promise<ArrayBuffer>,
    muted: () => boolean,
    wanted: () => boolean,
  ): Promise<SoundTrack | null> {
    const track = await SoundTrack.load(clock, sound);
    if (!wanted()) {
      track.release();
      return null;
    }
    track.muted = muted();
    track.bind();
    clock.play();
    return track;
  }

  /** Decode a sound, ready to be bound to the clock. */
  private static async load(clock: Clock, sound: Promise<ArrayBuffer>): Promise<SoundTrack> {
    const track = new SoundTrack(clock);
    try {
      track.buffer = await tracked(track.context.decodeAudioData(await sound));
    } catch (error) {
      track.release();
      throw error;
    }
    return track;
  }

  /** The audible time of the music in seconds; null while nothing plays. */
  get time(): number | null {
    if (!this.source || this.context.state !== "running") return null;
    const latency = this.context.outputLatency || 0; // sound becomes audible with a delay
    return Math.max(this.offset, this.offset + (this.context.currentTime - latency - this.startedAt) * this.rate);
  }

  set muted(muted: boolean) {
    this.volume.gain.value = muted ? 0 : 1;
  }

  /** Take the clock's time from the sound, and start and stop the sound with the clock. */
  bind(): void {
    this.clock.master = this.audibleTime;
    this.clock.addEventListener("change", this.followClock);
    void this.context.resume().then(this.followClock);
  }

  release(): void {
    this.clock.removeEventListener("change", this.followClock);
    if (this.clock.master === this.audibleTime) this.clock.master = null;
    this.stop();
    void this.context.close();
  }

  private readonly audibleTime = (): number | null => this.time;

  private readonly followClock = (): void => {
    if (!this.clock.playing || this.clock.direction < 0) {
      this.stop(); // sound is not played backwards
      return;
    }
    const audible = this.time;
    const drifted = audible === null || Math.abs(audible - this.clock.time) > MAX_DRIFT;
    if (drifted || this.rate !== this.clock.speed) this.play(this.clock.time, this.clock.speed);
  };

  private play(offset: number, rate: number): void {
    this.stop();
    if (!this.buffer || offset >= this.buffer.duration) return;
    this.source = this.context.createBufferSource();
    this.source.buffer = this.buffer;
    this.source.playbackRate.value = rate;
    this.source.connect(this.volume);
    this.source.start(0, offset);
    this.startedAt = this.context.currentTime;
    this.offset = offset;
    this.rate = rate;
    const ended = this.source;
    ended.onended = () => {
      if (this.source === ended) this.source = undefined;
    };
  }

  private stop(): void {
    this.source?.stop();
    this.source = undefined;
  }
}

/** A click on every beat, for dances without music. */
export class Metronome {
  private readonly context = new AudioContext();
  private readonly volume = this.context.createGain();

  constructor() {
    this.volume.connect(this.context.destination);
    void this.context.resume();
  }

  set muted(muted: boolean) {
    this.volume.gain.value = muted ? 0 : 1;
  }

  /** Click in `seconds` from now; downbeats have a higher pitch. */
  click(seconds: number, downbeat: boolean): void {
    const at = this.context.currentTime + Math.max(seconds, 0);
    const tone = this.context.createOscillator();
    const fade = this.context.createGain();
    tone.frequency.value = downbeat ? 1320 : 880;
    fade.gain.setValueAtTime(0.4, at);
    fade.gain.exponentialRampToValueAtTime(0.001, at + 0.09);
    tone.connect(fade).connect(this.volume);
    tone.start(at);
    tone.stop(at + 0.1);
  }

  close(): void {
    void this.context.close();
  }
}
