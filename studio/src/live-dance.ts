// A dance that is made while it is watched: after the pointer, at the slider's tempo.

import * as THREE from "three";
import { Metronome } from "./sound";
import { StreamedMotion } from "./streamed";
import type { Studio } from "./studio";
import type { Message } from "./wire";

const LEAD = 0.35; // seconds held ready: little, so that pointer and slider act soon
const BLOCK = 6; // frames asked for at once

export class LiveDance {
  muted = false;
  private player = 0;
  private dancers: StreamedMotion[] = [];
  private target: [number, number] | null = null;
  private counted = 0; // beats that were knocked
  private asking = false;
  private ended = false;
  private readonly metronome = new Metronome();
  private readonly aim = new THREE.Mesh(
    new THREE.RingGeometry(0.12, 0.18, 32), new THREE.MeshBasicMaterial({ color: 0xe0823d, side: THREE.DoubleSide }),
  );

  constructor(
    private readonly studio: Studio, private readonly steps: string, private readonly meter: number,
    public tempo: number, private readonly seed: number,
  ) {
    this.aim.rotation.x = -Math.PI / 2;
    this.aim.visible = false;
  }

  async start(): Promise<void> {
    const { live, stage } = this.studio;
    const begun = await live.ask("dance/start", { choreography: this.steps, tempo: this.tempo, seed: this.seed });
    this.player = begun.meta.player;
    this.dancers = begun.meta.characters.map((one: any, number: number) =>
      new StreamedMotion(`dancer ${number + 1}`, begun.meta.fps, one));
    await this.more();
    if (this.ended) return;
    this.studio.cast(this.dancers.map((motion) => ({ motion })));
    stage.scene.add(this.aim);
    stage.clock.seek(0);
    stage.clock.play();
    stage.addEventListener("frame", this.pump);
    stage.host.addEventListener("pointermove", this.point);
  }

  stop(): void {
    const { live, stage } = this.studio;
    this.ended = true;
    stage.removeEventListener("frame", this.pump);
    stage.host.removeEventListener("pointermove", this.point);
    stage.scene.remove(this.aim);
    this.metronome.close();
    if (live.connected && this.player) live.ask("player/close", { player: this.player }).catch(() => {});
  }

  private readonly pump = (): void => {
    const { clock } = this.studio.stage;
    if (!this.asking && !this.ended && this.dancers[0].ahead(clock.time) < LEAD) {
      this.more().catch((error) => { this.studio.say(error); this.stop(); });
    }
  };

  private readonly point = (event: PointerEvent): void => {
    const place = this.studio.stage.floorAt(event.clientX, event.clientY);
    if (!place) return;
    this.target = [place.x, place.z];
    this.aim.position.set(place.x, 0.01, place.z);
    this.aim.visible = true;
  };

  private async more(): Promise<void> {
    this.asking = true;
    try {
      const message = await this.studio.live.ask("dance/read", {
        player: this.player, count: BLOCK, tempo: this.tempo, ...(this.target && { target: this.target }),
      });
      const before = this.dancers[0].frames;
      this.dancers.forEach((dancer, number) => dancer.push({
        arrays: { positions: message.arrays[`positions_${number}`], contacts: message.arrays[`contacts_${number}`] },
      }));
      this.knock(message, before);
    } finally { this.asking = false; }
  }

  /** Knock where the new frames pass a beat, when the clock gets there. */
  private knock(message: Message, before: number): void {
    const { clock } = this.studio.stage;
    this.metronome.muted = this.muted;
    message.arrays.beats?.forEach((beat, index) => {
      const number = Math.floor(beat + 1e-6);
      if (number < this.counted) return;
      this.counted = number + 1;
      const due = (before + index) / this.dancers[0].fps - clock.time;
      this.metronome.knock(due / clock.speed, number % this.meter === 0);
    });
  }
}
