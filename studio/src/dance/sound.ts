// Sound that the stage's clock follows: what is seen is what is heard.

import type { Clock } from "../stage/clock";

const APART = 0.12; // seconds between clock and sound beyond which the sound is begun anew

/** A piece of music played along with the clock. The browser wants a click before any sound. */
export class SoundTrack {
  private readonly context = new AudioContext();
  private readonly volume = this.context.createGain();
  private buffer?: AudioBuffer;
  private source?: AudioBufferSourceNode;
  private begun = 0;
  private offset = 0;
  private rate = 1;

  private constructor(private readonly clock: Clock) {
    this.volume.connect(this.context.destination);
  }

  /** A sound of the server, ready to be bound to the clock. */
  static async load(clock: Clock, sound: Promise<ArrayBuffer>): Promise<SoundTrack> {
    const track = new SoundTrack(clock);
    try {
      track.buffer = await track.context.decodeAudioData(await sound);
    } catch (error) {
      track.release();
      throw error;
    }
    return track;
  }

  /** Seconds of the music that are heard now; null while nothing plays. */
  get time(): number | null {
    if (!this.source || this.context.state !== "running") return null;
    const late = this.context.outputLatency || 0; // what was sent is heard a little later
    return Math.max(this.offset, this.offset + (this.context.currentTime - late - this.begun) * this.rate);
  }

  set muted(muted: boolean) {
    this.volume.gain.value = muted ? 0 : 1;
  }

  /** From now on the clock takes its time from the sound, and the sound obeys the clock. */
  bind(): void {
    this.clock.master = this.heard;
    this.clock.addEventListener("change", this.obey);
    void this.context.resume().then(this.obey);
  }

  release(): void {
    this.clock.removeEventListener("change", this.obey);
    if (this.clock.master === this.heard) this.clock.master = null;
    this.stop();
    void this.context.close();
  }

  private readonly heard = (): number | null => this.time;

  private readonly obey = (): void => {
    if (!this.clock.playing) {
      this.stop();
      return;
    }
    const heard = this.time;
    const apart = heard === null || Math.abs(heard - this.clock.time) > APART;
    if (apart || this.rate !== this.clock.speed) this.begin(this.clock.time, this.clock.speed);
  };

  private begin(offset: number, rate: number): void {
    this.stop();
    if (!this.buffer || offset >= this.buffer.duration) return;
    this.source = this.context.createBufferSource();
    this.source.buffer = this.buffer;
    this.source.playbackRate.value = rate;
    this.source.connect(this.volume);
    this.source.start(0, offset);
    this.begun = this.context.currentTime;
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

/** A knock on every beat, for dances without music. */
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

  /** Knock in `seconds` from now; downbeats are higher. */
  knock(seconds: number, downbeat: boolean): void {
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
