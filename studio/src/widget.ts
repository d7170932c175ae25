// The stage in a notebook cell, as an anywidget module: it draws the messages of the kernel, without a server.

import type { BodyMesh, Detail } from "./stage/bodies";
import type { Bones } from "./net/types";
import { parseMessage } from "./net/message";
import { bounds, Region, Target } from "./aim/target";
import { color, theme } from "./page/theme";
import { Stage, type CharacterSpec } from "./stage/stage";
import { TRACK_STYLE, Track } from "./timeline/track";

interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  send(content: unknown): void;
  on(name: string, callback: (...given: never[]) => void): void;
  off(name: string | null, callback?: (...given: never[]) => void): void;
}

interface SceneHead {
  characters: (Bones & {
    name: string;
    fps: number;
    frames: number;
    color?: number;
    opacity?: number;
    title?: string;
  })[];
  reached?: number[];
  off?: number;
  outside?: boolean;
  key?: number | null;
}

interface RegionHead {
  axes: string[];
  by: string[];
}

type Answered = { kind: string; key: string; detail: Detail; error?: string };

const STYLE = `
  .loom { position: relative; display: flex; flex-direction: column; font: 13px system-ui, sans-serif; color: var(--ink); background: var(--panel);
    border: 1px solid var(--line); border-radius: 6px; overflow: clip; }
  .loom .stage { position: relative; flex: 1; min-height: 0; } .loom canvas { display: block; width: 100%; height: 100%; touch-action: none; }
  .loom .bar { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; padding: 6px 8px; }
  .loom button, .loom select, .loom input[type="number"] { font: inherit; color: var(--ink); background: var(--raised); border: 1px solid var(--line);
    border-radius: 5px; padding: 3px 8px; }
  .loom button { cursor: pointer; } .loom button[aria-pressed="true"] { border-color: var(--accent); color: var(--accent); }
  .loom select { flex: 1; min-width: 0; } .loom .faint { color: var(--faint); font-variant-numeric: tabular-nums; } .loom .bad { color: var(--bad); }
  .loom label { display: flex; gap: 6px; align-items: center; } .loom .axes { flex: 1; display: grid; gap: 2px; } .loom .axes input[type="range"] { flex: 1; }
  .loom .axes input[type="number"] { width: 76px; } .loom :focus-visible { outline: 2px solid var(--cool); outline-offset: 1px; } ${TRACK_STYLE}
`;
const COLORS = ["ink", "faint", "line", "panel", "raised", "well", "accent", "cool", "bad"] as const;

/** Meshes from the kernel, each requested once. */
function kernelBodies(model: Model) {
  const waiting = new Map<string, { done: (mesh: BodyMesh) => void; failed: (why: Error) => void }>();
  const asked = new Map<string, Promise<BodyMesh>>();
  const heard = (content: Answered, buffers: DataView[]) => {
    const request = content.kind === "body" ? waiting.get(`${content.key} ${content.detail}`) : undefined;
    if (!request) return;
    if (content.error) request.failed(new Error(content.error));
    else request.done(parseMessage(bytesOf(buffers[0])).arrays as unknown as BodyMesh);
  };
  model.on("msg:custom", heard as never);
  const source = (key: string, detail: Detail): Promise<BodyMesh> => {
    const name = `${key} ${detail}`;
    let request = asked.get(name);
    if (!request) {
      request = new Promise((done, failed) => waiting.set(name, { done, failed }));
      asked.set(name, request);
      model.send({ kind: "body", key, detail });
    }
    return request;
  };
  return { source, close: () => model.off("msg:custom", heard as never) };
}

/** Copy the bytes of a trait to a new buffer, so that typed arrays on it are aligned. */
function bytesOf(view: DataView | ArrayBuffer): ArrayBuffer {
  if (view instanceof ArrayBuffer) return view.slice(0);
  return view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength) as ArrayBuffer;
}

function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Partial<HTMLElementTagNameMap[K]> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

class Cell {
  readonly stage: Stage;
  private readonly root = element("div", { className: "loom" });
  private readonly play = element("button", { type: "button" });
  private readonly state = element("span", { className: "faint", ariaLive: "off" });
  private readonly problem = element("span", { className: "bad" });
  private readonly track: Track;
  private readonly bodies: ReturnType<typeof kernelBodies>;
  private readonly listening: [string, () => void][] = [];
  private readonly gone = new AbortController();
  private aim?: Target;
  private region?: Region;
  private axes: string[] = [];
  private sliders: HTMLInputElement[][] = [];
  private sent = -1; // the frame that the kernel knows

  constructor(
    private readonly model: Model,
    el: HTMLElement,
  ) {
    const host = element("div", { className: "stage" });
    this.root.style.height = `${model.get("_height") as number}px`;
    const paint = () => {
      for (const name of COLORS) this.root.style.setProperty(`--${name}`, color(name));
    };
    theme.addEventListener("change", paint, { signal: this.gone.signal });
    paint();
    el.append(element("style", { textContent: STYLE }), this.root);
    this.root.append(host);
    this.bodies = kernelBodies(model);
    this.stage = new Stage(host, this.bodies.source);
    this.track = new Track();
    const bones = element("button", { type: "button", textContent: "bones", title: "Show bones instead of the body" });
    bones.ariaPressed = String(!this.stage.display.body);
    bones.onclick = () => {
      this.stage.set({ body: !this.stage.display.body });
      bones.ariaPressed = String(!this.stage.display.body);
    };
    this.play.onclick = () => this.stage.clock.toggle();
    this.root.append(
      this.track.element,
      element("div", { className: "bar" }, this.play, this.state, bones, this.problem, ...this.chooser()),
    );
    this.follow("_scene", () => this.show());
    this.follow("_region", () => this.place());
    this.follow("frame", () => {
      const frame = model.get("frame") as number;
      if (frame !== this.sent) this.seek(frame);
    });
    this.follow("playing", () => {
      const { clock } = this.stage;
      if (clock.playing !== model.get("playing")) clock.toggle();
    });
    this.follow("selection", () => (this.track.selection = this.model.get("selection") as [number, number] | null));
    this.follow("target", () => this.moved(model.get("target") as number[]));
    this.follow("error", () => (this.problem.textContent = model.get("error") as string));
    this.stage.clock.addEventListener("change", () => this.clockChanged());
    this.stage.addEventListener("frame", () => this.drawn());
    this.track.addEventListener("seek", () => this.seek(this.track.frame));
    this.track.addEventListener("select", () => this.report({ selection: this.track.selection }));
    this.stage.addEventListener("no-webgl", (event) => {
      this.problem.textContent = `This browser cannot draw in 3D: ${(event as CustomEvent<string>).detail}`;
    });
    this.place();
    this.show();
    this.track.selection = model.get("selection") as [number, number] | null;
    if (!model.get("playing")) this.seek(model.get("frame") as number);
    this.clockChanged();
    this.stage.start();
  }

  close(): void {
    for (const [name, callback] of this.listening) this.model.off(name, callback);
    this.bodies.close();
    this.gone.abort();
    this.aim?.dispose();
    this.region?.dispose();
    this.stage.dispose();
    this.root.remove();
  }

  private follow(name: string, callback: () => void): void {
    this.model.on(`change:${name}`, callback);
    this.listening.push([`change:${name}`, callback]);
  }

  private report(values: Record<string, unknown>): void {
    for (const [name, value] of Object.entries(values)) this.model.set(name, value);
    this.model.save_changes();
  }

  private show(): void {
    const { meta, arrays } = parseMessage<SceneHead>(bytesOf(this.model.get("_scene") as DataView));
    const specs = meta.characters.map((head, index): CharacterSpec => {
      const { color, opacity, title, ...motion } = head;
      const part = (name: string) => arrays[`${name}_${index}`];
      return {
        motion: {
          ...motion,
          positions: part("positions") as Float32Array,
          orientations: part("orientations") as Float32Array,
          contacts: part("contacts") as Uint8Array,
        },
        color,
        opacity,
        title,
      };
    });
    const { stage } = this;
    const lead = stage.characters[0];
    if (this.aim && lead && lead.motion.joints.length === specs[0].motion.joints.length) {
      lead.motion = specs[0].motion; // while a target is dragged: the same character, another motion
      stage.clock.setRange(0, lead.motion.frames / lead.motion.fps);
      stage.rebuildPaths();
    } else stage.show(specs);
    this.track.frames = Math.max(...specs.map((one) => one.motion.frames));
    if (this.aim && meta.reached) {
      this.aim.arrived(...this.inSpace(meta.reached), Boolean(meta.outside));
      this.problem.textContent = meta.outside ? `out of reach by ${(100 * (meta.off ?? 0)).toFixed(1)} cm` : "";
    }
    if (this.axes.length && typeof meta.key === "number" && !stage.clock.playing) this.seek(meta.key);
    stage.wake();
  }

  /** The frame on the stage of the first character. */
  private get frame(): number {
    const lead = this.stage.characters[0];
    return lead ? lead.frameAt(this.stage.clock.time) : 0;
  }

  private seek(frame: number): void {
    const lead = this.stage.characters[0];
    if (!lead) return;
    this.stage.clock.pause();
    this.stage.clock.seek(lead.timeOf(Math.min(frame, lead.endFrame - 1)));
    this.clockChanged();
  }

  private drawn(): void {
    this.track.frame = this.frame;
    this.state.textContent = `frame ${this.frame} of ${this.track.frames}`;
  }

  /** Report the frame to the kernel when playback pauses, not sixty times per second. */
  private clockChanged(): void {
    const { playing } = this.stage.clock;
    this.play.textContent = playing ? "pause" : "play";
    if (playing) this.report({ playing });
    else {
      this.sent = this.frame;
      this.report({ playing, frame: this.sent });
    }
    this.stage.wake();
  }

  private chooser(): Node[] {
    const names = this.model.get("_choices") as string[];
    if (!names.length) return [];
    const list = element("select", { ariaLabel: "Match" });
    names.forEach((name, index) => list.add(new Option(`${index + 1} of ${names.length}: ${name}`, String(index))));
    const choose = (index: number) => {
      list.value = String(index);
      this.report({ choice: index });
    };
    list.onchange = () => choose(Number(list.value));
    const step = (by: number, text: string, title: string) => {
      const button = element("button", { type: "button", textContent: text, title });
      button.onclick = () => choose((Number(list.value) + by + names.length) % names.length);
      return button;
    };
    list.value = String(this.model.get("choice"));
    this.follow("choice", () => (list.value = String(this.model.get("choice"))));
    return [step(-1, "‹", "Previous match"), list, step(1, "›", "Next match")];
  }

  /** Show the accessible targets and the target of a parametric motion. */
  private place(): void {
    const given = this.model.get("_region") as DataView;
    if (!given || given.byteLength === 0) return;
    const { meta, arrays } = parseMessage<RegionHead>(bytesOf(given));
    this.axes = meta.axes;
    const [samples, examples] = [arrays.accessible, arrays.examples] as Float32Array[];
    const target = this.model.get("target") as number[];
    const rows = element("div", { className: "axes", title: meta.by.join(", ") });
    this.sliders = meta.axes.map((axis, index) => {
      const [low, high] = bounds(samples, index, meta.axes.length);
      const inputs = ["range", "number"].map((type) =>
        element("input", { type, min: String(low), max: String(high), step: "0.001", value: target[index].toFixed(3) }),
      );
      inputs[0].ariaLabel = `Target ${axis}`;
      inputs[1].ariaLabel = `Target ${axis} (number)`;
      for (const input of inputs)
        input.oninput = () => {
          const values = [...(this.model.get("target") as number[])];
          values[index] = Number(input.value);
          this.ask(values);
        };
      rows.append(element("label", {}, axis, ...inputs));
      return inputs;
    });
    this.root.append(element("div", { className: "bar" }, rows));
    if (!["x,y,z", "x,z"].includes(meta.axes.join())) return;
    const flat = meta.axes.length === 2;
    const lifted = (values: Float32Array) =>
      Float32Array.from({ length: (values.length / meta.axes.length) * 3 }, (_, at) => {
        const row = Math.floor(at / 3) * meta.axes.length;
        return flat ? [values[row], 0.01, values[row + 1]][at % 3] : values[at];
      });
    this.region = new Region(this.stage, lifted(samples), lifted(examples));
    this.aim = new Target(this.stage, flat);
    this.aim.put(...this.inSpace(target));
    this.aim.addEventListener("move", () => {
      const [x, y, z] = this.aim!.place;
      this.ask(flat ? [x, z] : [x, y, z]);
    });
    this.stage.holdCamera("The camera is fixed, so that the target does not move under the pointer");
    this.stage.clock.pause();
  }

  private inSpace(values: number[]): [number, number, number] {
    return this.axes.length === 2 ? [values[0], 0.01, values[1]] : [values[0], values[1], values[2]];
  }

  private ask(target: number[]): void {
    this.report({ target });
    this.moved(target);
  }

  /** Show a target, no matter whether the user or the kernel has moved it. */
  private moved(target: number[]): void {
    this.sliders.forEach((inputs, index) => {
      for (const input of inputs)
        if (input !== (input.getRootNode() as Document | ShadowRoot).activeElement)
          input.value = target[index].toFixed(3);
    });
    if (this.aim && !this.aim.dragging) this.aim.put(...this.inSpace(target));
  }
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const cell = new Cell(model, el);
  Object.assign(el, { loom: cell }); // for tests
  return () => cell.close();
}

export default { render };
