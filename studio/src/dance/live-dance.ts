// A live dance, synthesized while it plays: it follows the pointer, at the tempo of the slider.

import * as THREE from "three";
import { wornQuery } from "../motion/motion";
import { Feed, StreamedMotion } from "../motion/streamed";
import type { LiveHeads } from "../net/types";
import type { Message } from "../net/message";
import type { Studio } from "../page/studio";
import { Metronome } from "./sound";

const LEAD = 0.35; // seconds buffered; short, so that pointer and slider take effect quickly

/** Fires "ended", also when the connection is lost. */
export class LiveDance extends EventTarget {
  private feed?: Feed<"dance/read">;
  private target: [number, number] | null = null;
  private nextBeat = 0;
  private ended = false;
  private readonly metronome = new Metronome();
  private readonly aim = new THREE.Mesh(
    new THREE.RingGeometry(0.12, 0.18, 32),
    new THREE.MeshBasicMaterial({ color: 0xe0823d, side: THREE.DoubleSide }),
  );

  constructor(
    private readonly studio: Studio,
    private readonly choreography: string,
    private readonly meter: number,
    public tempo: number,
    private readonly seed: number,
  ) {
    super();
    this.aim.rotation.x = -Math.PI / 2;
    this.aim.visible = false;
  }

  set muted(muted: boolean) {
    this.metronome.muted = muted;
  }

  async start(): Promise<void> {
    const { live, stage } = this.studio;
    const { meta } = await live.request("dance/start", {
      choreography: this.choreography,
      tempo_bpm: this.tempo,
      seed: this.seed,
      ...wornQuery(),
    });
    const dancers = meta.characters.map((one, number) => new StreamedMotion(`dancer ${number + 1}`, meta.fps, one));
    this.feed = new Feed(live, meta.player, dancers, stage.clock, {
      kind: "dance/read",
      lead: LEAD,
      controls: () => ({ tempo_bpm: this.tempo, ...(this.target && { target: this.target }) }),
      onRead: (message) => this.scheduleClicks(message, meta.fps),
      onError: (error) => {
        if (!this.ended) {
          this.studio.notify(error);
          this.stop();
        }
      },
    });
    if (this.ended) {
      this.feed.end();
      return;
    } // stopped before it started
    await this.feed.read();
    if (this.ended) return;
    this.studio.show(dancers.map((motion) => ({ motion })));
    stage.scene.add(this.aim);
    stage.clock.seek(0);
    stage.clock.play();
    stage.addEventListener("frame", this.feed.pump);
    stage.host.addEventListener("pointermove", this.point);
  }

  stop(): void {
    if (this.ended) return;
    const { stage } = this.studio;
    this.ended = true;
    if (this.feed) stage.removeEventListener("frame", this.feed.pump);
    stage.host.removeEventListener("pointermove", this.point);
    stage.scene.remove(this.aim);
    this.aim.geometry.dispose();
    this.aim.material.dispose();
    this.metronome.close();
    this.feed?.end();
    this.dispatchEvent(new Event("ended"));
  }

  private readonly point = (event: PointerEvent): void => {
    const place = this.studio.stage.floorAt(event.clientX, event.clientY);
    if (!place) return;
    this.target = [place.x, place.z];
    this.aim.position.set(place.x, 0.01, place.z);
    this.aim.visible = true;
  };

  /** Schedule metronome clicks for the beats in new frames. */
  private scheduleClicks({ meta, arrays }: Message<LiveHeads["dance/read"]>, fps: number): void {
    const { clock } = this.studio.stage;
    arrays.beats?.forEach((beat, index) => {
      const number = Math.floor(beat + 1e-6);
      if (number < this.nextBeat) return;
      this.nextBeat = number + 1;
      const due = (meta.start + index) / fps - clock.time;
      this.metronome.click(due / clock.speed, number % this.meter === 0);
    });
  }
}
