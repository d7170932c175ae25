// A motion matching character, steered while it plays: reads keys, gamepad and pointer, streams frames, keeps the camera
// behind the character, and measures the latency.

import { wornQuery } from "../motion/motion";
import { Feed, StreamedMotion } from "../motion/streamed";
import type { LiveHeads, MatchState } from "../net/types";
import type { Message } from "../net/message";
import type { Studio } from "../page/studio";
import { REST, steers, stickOfKeys, stickOfPad, velocityOf, velocityToward, type Stick } from "./steering";
import { WishMarks } from "./wish-marks";

const LEAD = 0.09; // seconds buffered; short, so that controls take effect quickly
const STATES = 900; // responses that are kept
const TURN = 1.6; // per second; rate at which the camera moves behind the character
const FAR = 4; // initial distance of the camera behind the character, in meters
const UP = 1.1; // meters above its hips
const LOOK = 2.2; // radians per second with the right stick fully tilted
const CHANGED = 0.02; // m/s; smaller changes are not sent

export interface Moment {
  frame: number;
  state: MatchState;
  jumped: boolean;
}

/** Fires "ended", also when the connection is lost. */
export class Pilot extends EventTarget {
  /** Speeds in m/s without and with running. */
  walkSpeed = 1.3;
  runSpeed = 3;
  gait: string | null = null;
  strafe = false;
  /** Walk to the pointer. */
  follow = false;
  /** Keep the camera behind the character. */
  behind = true;
  recording = "";
  /** The latest responses, in order of frames. */
  readonly moments: Moment[] = [];
  /** Milliseconds from the last change of the input to the first visible frame that responds to it. */
  latency: number | null = null;
  /** Milliseconds of the last response, in total and on the server. */
  answer = 0;
  server = 0;
  /** Frames drawn in the last second. */
  rate = 0;
  motion?: StreamedMotion;
  private feed?: Feed<"match/read">;
  private marks?: WishMarks;
  private readonly held = new Set<string>();
  private target: [number, number] | null = null;
  private sent = { velocity: [0, 0] as [number, number], strafe: false, gait: null as string | null };
  private asked = 0; // when the last request was sent
  private changed: { at: number; frame: number } | null = null;
  private dragging = false;
  private drawn: number[] = [];
  private last = performance.now();
  private ended = false;

  constructor(
    private readonly studio: Studio,
    private readonly settings: object,
  ) {
    super();
  }

  async start(): Promise<void> {
    const { live, stage } = this.studio;
    const { meta } = await live.request("match/start", { settings: this.settings, ...wornQuery() });
    if (this.ended) {
      live.request("player/close", { player: meta.player }).catch(() => {});
      return;
    }
    this.recording = meta.recording;
    this.motion = new StreamedMotion("controller", meta.fps, meta);
    this.feed = new Feed(live, meta.player, [this.motion], stage.clock, {
      kind: "match/read",
      lead: LEAD,
      count: () => Math.max(Math.ceil((LEAD - this.motion!.ahead(stage.clock.time)) * meta.fps), 1),
      controls: () => ({ controls: this.controls() }),
      onRead: (message) => this.onRead(message),
      onError: (error) => {
        if (this.ended) return;
        this.studio.notify(error);
        this.stop();
      },
    });
    await this.feed.read();
    if (this.ended) return;
    this.marks = new WishMarks(stage);
    const id = this.recording;
    this.studio.show([{ motion: this.motion, title: "controller" }], null, {
      title: "played by the controller",
      body: () => ({ kind: "played", id }),
    });
    this.beginBehind();
    stage.clock.seek(0);
    stage.clock.play();
    stage.addEventListener("frame", this.frame);
    addEventListener("keydown", this.down, { capture: true });
    addEventListener("keyup", this.up, { capture: true });
    addEventListener("blur", this.release);
    stage.host.addEventListener("pointermove", this.point);
    stage.host.addEventListener("pointerdown", this.grab);
    addEventListener("pointerup", this.drop);
  }

  stop(): void {
    if (this.ended) return;
    this.ended = true;
    const { stage } = this.studio;
    stage.removeEventListener("frame", this.frame);
    removeEventListener("keydown", this.down, { capture: true });
    removeEventListener("keyup", this.up, { capture: true });
    removeEventListener("blur", this.release);
    stage.host.removeEventListener("pointermove", this.point);
    stage.host.removeEventListener("pointerdown", this.grab);
    removeEventListener("pointerup", this.drop);
    this.marks?.dispose();
    this.feed?.end();
    stage.clock.pause();
    this.dispatchEvent(new Event("ended"));
  }

  /** State of the character in the visible frame. */
  get shown(): Moment | null {
    const frame = this.studio.stage.clock.time * (this.motion?.fps ?? 30);
    return this.moments.findLast((one) => one.frame <= frame + 1) ?? this.moments[0] ?? null;
  }

  /** The gamepad or the keys, whichever is used. */
  get stick(): Stick {
    const pads = navigator.getGamepads?.() ?? [];
    const pad = stickOfPad([...pads].find((one) => one?.connected));
    return pad.forward || pad.right || pad.look || pad.run || pad.strafe
      ? pad
      : this.held.size
        ? stickOfKeys(this.held)
        : REST;
  }

  /** The direction in which the camera looks, radians from +Z toward +X. */
  private get yaw(): number {
    const { camera, controls } = this.studio.stage;
    return Math.atan2(controls.target.x - camera.position.x, controls.target.z - camera.position.z);
  }

  /** Controls that have changed since they were last sent. */
  private controls(): object {
    const stick = this.stick;
    const speed = stick.run ? this.runSpeed : this.walkSpeed;
    const place = this.moments.at(-1)?.state.place ?? [0, 0];
    const steered = stick.forward || stick.right;
    const velocity =
      this.follow && this.target && !steered
        ? velocityToward(place, this.target, speed)
        : velocityOf(stick, this.yaw, speed);
    const strafe = this.strafe || stick.strafe;
    const changes: Record<string, unknown> = {};
    const { sent } = this;
    if (Math.hypot(velocity[0] - sent.velocity[0], velocity[1] - sent.velocity[1]) > CHANGED)
      changes.velocity = velocity;
    if (strafe !== sent.strafe) changes.strafe = strafe;
    if (this.gait !== sent.gait) changes.gait = this.gait;
    this.sent = { velocity: (changes.velocity as [number, number]) ?? sent.velocity, strafe, gait: this.gait };
    this.asked = performance.now();
    if (this.changed?.frame === -1 && Object.keys(changes).length) this.changed.frame = this.motion!.frames;
    return changes;
  }

  private onRead({ meta }: Message<LiveHeads["match/read"]>): void {
    this.answer = performance.now() - this.asked;
    this.server = meta.milliseconds;
    this.moments.push({ frame: this.motion!.frames - 1, state: meta, jumped: meta.seams.length > 0 });
    if (this.moments.length > STATES) this.moments.shift();
  }

  /** Called for every drawn frame: request frames, update marks, camera and figures. */
  private readonly frame = (): void => {
    const now = performance.now();
    const seconds = Math.min((now - this.last) / 1000, 0.25);
    this.last = now;
    this.drawn = [...this.drawn.filter((at) => now - at < 1000), now];
    this.rate = this.drawn.length;
    this.feed?.pump();
    const { clock } = this.studio.stage;
    if (this.changed && this.changed.frame >= 0 && clock.time * this.motion!.fps >= this.changed.frame) {
      this.latency = now - this.changed.at;
      this.changed = null;
    }
    const moment = this.shown;
    if (!moment) return;
    this.marks?.show(moment.state);
    this.turnCamera(moment.state, seconds);
  };

  /** Put the camera behind the character, so that the forward key walks away from the camera. */
  private beginBehind(): void {
    const { camera, controls, rig } = this.studio.stage;
    const facing = this.moments[0]?.state.place[2] ?? 0;
    rig.touched = true; // it stays there
    camera.position.set(-Math.sin(facing) * FAR, UP, -Math.cos(facing) * FAR).add(controls.target);
    controls.update();
  }

  /** Turn the camera with the right stick, or slowly move it behind a walking character. */
  private turnCamera(state: MatchState, seconds: number): void {
    const { camera, controls } = this.studio.stage;
    const offset = camera.position.clone().sub(controls.target);
    const angle = Math.atan2(offset.x, offset.z);
    let turn = -this.stick.look * LOOK * seconds;
    const walks = Math.hypot(...state.velocity) > 0.3;
    if (!turn && this.behind && walks && !this.dragging && !this.sent.strafe) {
      const missing = state.place[2] + Math.PI - angle;
      turn = Math.atan2(Math.sin(missing), Math.cos(missing)) * (1 - Math.exp(-TURN * seconds));
    }
    if (!turn) return;
    const far = Math.hypot(offset.x, offset.z);
    offset.x = far * Math.sin(angle + turn);
    offset.z = far * Math.cos(angle + turn);
    camera.position.copy(controls.target).add(offset);
    camera.lookAt(controls.target);
  }

  /** The input has changed: measure the time until the change is visible. */
  private mark(): void {
    this.changed = { at: performance.now(), frame: -1 };
  }

  private readonly down = (event: KeyboardEvent): void => {
    const target = event.composedPath()[0] as HTMLElement;
    const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(target?.tagName);
    if (!steers(event.code) || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!event.code.startsWith("Shift")) event.preventDefault();
    event.stopPropagation();
    if (this.held.has(event.code)) return;
    this.held.add(event.code);
    this.mark();
  };

  private readonly up = (event: KeyboardEvent): void => {
    if (!this.held.delete(event.code)) return;
    event.stopPropagation();
    this.mark();
  };

  private readonly release = (): void => this.held.clear();

  private readonly point = (event: PointerEvent): void => {
    if (!this.follow) return;
    const place = this.studio.stage.floorAt(event.clientX, event.clientY);
    if (place) this.target = [place.x, place.z];
  };

  private readonly grab = (): void => {
    this.dragging = true;
  };
  private readonly drop = (): void => {
    this.dragging = false;
  };
}
