// The page of `motionloom match export --to web`: a character that is steered with keys, a gamepad or a finger. It reads
// everything from its own document and makes no request.

import { REST, steers, stickOfKeys, stickOfPad, velocityOf, type Stick } from "../play/steering";
import { readDatabase } from "../runtime/database";
import { MatchingPlayer, type Played } from "../runtime/player";
import { Figure } from "./figure";
import { Scene } from "./scene";

const LATEST = 0.25; // seconds that are made up after a pause
const STATUS_TIME = 500; // milliseconds between two updates of the status
const WALKS = 1.3; // m/s without running, if the takes are not slower
const TYPING = ["SELECT", "INPUT", "TEXTAREA"];

const find = <T extends HTMLElement>(name: string): T => document.getElementById(name) as T;

/** The stick drawn on the page, for fingers and the mouse. */
class Pad {
  stick: Stick = REST;
  private readonly knob: HTMLElement;

  constructor(private readonly pad: HTMLElement) {
    this.knob = pad.firstElementChild as HTMLElement;
    pad.addEventListener("pointerdown", (event) => {
      pad.setPointerCapture(event.pointerId);
      this.move(event);
    });
    pad.addEventListener("pointermove", (event) => event.buttons && this.move(event));
    for (const name of ["pointerup", "pointercancel", "lostpointercapture"] as const)
      pad.addEventListener(name, () => this.set(0, 0));
  }

  private move(event: PointerEvent): void {
    const box = this.pad.getBoundingClientRect();
    const x = (event.clientX - box.left - box.width / 2) / (box.width / 2);
    const y = (event.clientY - box.top - box.height / 2) / (box.height / 2);
    const long = Math.max(Math.hypot(x, y), 1);
    this.set(x / long, y / long);
  }

  private set(x: number, y: number): void {
    this.stick = { ...REST, forward: -y, right: x };
    this.knob.style.transform = `translate(${x * 36}px, ${y * 36}px)`;
  }
}

/** Gamepads, or none where the page may not use them: in a frame of another page that does not allow it. */
function gamepadsOfPage(): () => (Gamepad | null)[] {
  try {
    navigator.getGamepads();
    return () => navigator.getGamepads();
  } catch {
    return () => [];
  }
}

async function start(): Promise<void> {
  const coded = find("controller").textContent ?? "";
  const database = await readDatabase(Uint8Array.from(atob(coded), (letter) => letter.charCodeAt(0)));
  const player = new MatchingPlayer(database);
  const scene = new Scene(find<HTMLCanvasElement>("stage"));
  const figure = new Figure(database);
  scene.scene.add(figure.group);
  const pad = new Pad(find("pad"));
  const held = new Set<string>();
  const run = find<HTMLButtonElement>("run");
  const gait = find<HTMLSelectElement>("gait");
  gait.append(...database.tags.map((tag) => new Option(tag, tag)));
  gait.addEventListener("change", () => player.steer({ gait: gait.value || null }));
  const flip = (button: HTMLElement) =>
    button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
  const pressed = (button: HTMLElement) => button.getAttribute("aria-pressed") === "true";
  const strafe = find<HTMLButtonElement>("strafe");
  for (const button of [run, strafe]) button.addEventListener("click", () => flip(button));
  addEventListener("keydown", (event) => {
    if (!steers(event.code) || TYPING.includes((event.target as HTMLElement).tagName)) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!event.code.startsWith("Shift")) event.preventDefault();
    held.add(event.code);
  });
  addEventListener("keyup", (event) => held.delete(event.code));
  addEventListener("blur", () => held.clear());

  const fast = Math.max(database.speeds[1], 0.3);
  const gamepads = gamepadsOfPage();
  const stickNow = (): Stick => {
    const own = stickOfPad([...gamepads()].find((one) => one?.connected));
    if (own.forward || own.right || own.look || own.run || own.strafe) return own;
    if (held.size) return stickOfKeys(held);
    return pad.stick;
  };
  let before: Played = player.next();
  figure.putOnFloor(before); // players start with a standing pose
  let after: Played = player.next();
  let due = 0;
  let last = performance.now();
  let updated = 0;
  let strafed = false;
  const frame = (now: number): void => {
    const seconds = Math.min((now - last) / 1000, LATEST);
    last = now;
    const stick = stickNow();
    const speed = stick.run || pressed(run) ? fast : Math.min(WALKS, fast);
    player.steer({ velocity: velocityOf(stick, scene.yaw, speed) });
    const sideways = stick.strafe || pressed(strafe);
    if (sideways !== strafed) player.steer({ strafe: sideways });
    strafed = sideways;
    for (due += seconds * player.fps; due >= 1; due -= 1) {
      before = after;
      after = player.next();
    }
    figure.show(before, after, due);
    const [x, z] = [0, 2].map((c) => before.root[c] + (after.root[c] - before.root[c]) * due);
    const walks = Math.hypot(...player.velocity) > 0.3 && !sideways;
    scene.follow(x, z, walks ? player.position[2] : null, stick.look, seconds);
    scene.draw();
    if (now - updated > STATUS_TIME) {
      updated = now;
      find("status").textContent =
        `${player.gait || "moving"}, ${Math.hypot(...player.velocity).toFixed(1)} m/s, ${player.range.take}`;
    }
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  Object.assign(globalThis, { motionloom: { player, database, scene } }); // for the console
  document.documentElement.dataset.ready = "true";
}

start().catch((error: unknown) => {
  find("status").textContent = `This page could not start: ${error instanceof Error ? error.message : String(error)}`;
});
