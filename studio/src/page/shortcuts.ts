// The keys, as plain data: what the help shows is what the page does.

import type { Studio } from "./studio";

export interface Shortcut {
  keys: string[];
  shown: string;
  does: string;
  act: (studio: Studio, event: KeyboardEvent) => void;
}

const SPEEDS = [0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 4];

/** Frames of the timeline's motion forwards or back, to whole frames. */
export function step(studio: Studio, frames: number): void {
  const { clock } = studio.stage;
  const one = studio.lead;
  const fps = one?.motion.fps ?? 30;
  const start = one?.start ?? 0;
  clock.pause();
  const frame = Math.round((clock.time - start) * fps + 1e-6) + frames;
  clock.seek(Math.min(start + frame / fps, (one?.end ?? clock.end) - 1 / fps));
}

function faster(studio: Studio, by: 1 | -1): void {
  const { clock } = studio.stage;
  const next =
    by > 0
      ? SPEEDS.find((speed) => speed > clock.speed + 1e-6)
      : SPEEDS.findLast((speed) => speed < clock.speed - 1e-6);
  if (next) clock.set({ speed: next });
}

function toEnd(studio: Studio): void {
  const one = studio.lead;
  if (one) studio.stage.clock.seek(one.end - 1 / one.motion.fps);
}

export const SHORTCUTS: Shortcut[] = [
  { keys: [" "], shown: "Space", does: "play or pause", act: ({ stage }) => stage.clock.toggle() },
  {
    keys: ["ArrowRight", ".", ">"],
    shown: "→ or .",
    does: "one frame on; with Shift ten",
    act: (studio, event) => step(studio, event.shiftKey ? 10 : 1),
  },
  {
    keys: ["ArrowLeft", ",", "<"],
    shown: "← or ,",
    does: "one frame back; with Shift ten",
    act: (studio, event) => step(studio, event.shiftKey ? -10 : -1),
  },
  { keys: ["ArrowUp"], shown: "↑", does: "to the start", act: ({ stage }) => stage.clock.seek(stage.clock.start) },
  { keys: ["ArrowDown"], shown: "↓", does: "to the end", act: toEnd },
  { keys: ["j"], shown: "J K L", does: "play backwards, stop, play", act: ({ stage }) => stage.clock.play(-1) },
  { keys: ["k"], shown: "", does: "", act: ({ stage }) => stage.clock.pause() },
  { keys: ["l"], shown: "", does: "", act: ({ stage }) => stage.clock.play() },
  { keys: ["+", "="], shown: "+ and −", does: "faster, slower", act: (studio) => faster(studio, 1) },
  { keys: ["-"], shown: "", does: "", act: (studio) => faster(studio, -1) },
  { keys: ["i"], shown: "I and O", does: "the selected range begins, ends here", act: (studio) => studio.mark("in") },
  { keys: ["o"], shown: "", does: "", act: (studio) => studio.mark("out") },
  {
    keys: ["Escape"],
    shown: "Esc",
    does: "select nothing",
    act: (studio) => (studio.helping ? studio.help(false) : studio.select(null)),
  },
  {
    keys: ["f"],
    shown: "F",
    does: "look at the character; with Shift: follow it or not",
    act: ({ stage }, event) => (event.shiftKey ? stage.set({ follow: !stage.look.follow }) : stage.frame()),
  },
  { keys: ["Home"], shown: "Home", does: "camera back to where it began", act: ({ stage }) => stage.home() },
  {
    keys: ["1"],
    shown: "1 3 7",
    does: "from the front, the side, above; with Ctrl from the other side",
    act: ({ stage }, event) => stage.view(event.ctrlKey ? "back" : "front"),
  },
  { keys: ["3"], shown: "", does: "", act: ({ stage }, event) => stage.view(event.ctrlKey ? "left" : "right") },
  { keys: ["7"], shown: "", does: "", act: ({ stage }) => stage.view("top") },
  { keys: ["b"], shown: "B", does: "body or skeleton", act: ({ stage }) => stage.set({ body: !stage.look.body }) },
  {
    keys: ["g"],
    shown: "G",
    does: "ghosts before and after",
    act: ({ stage }) => stage.set({ ghosts: !stage.look.ghosts }),
  },
  { keys: ["p"], shown: "P", does: "path on the floor", act: ({ stage }) => stage.set({ path: !stage.look.path }) },
  { keys: ["?"], shown: "?", does: "these keys", act: (studio) => studio.help(!studio.helping) },
];

/** Does the focused thing need this key itself? */
function typing(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0] as HTMLElement;
  const tag = target?.tagName;
  if (tag === "INPUT" && (target as HTMLInputElement).type === "range")
    return event.key.startsWith("Arrow") || event.key === "Home";
  if (tag === "TEXTAREA" || tag === "SELECT" || target?.isContentEditable) return true;
  if (tag === "INPUT") return !["checkbox", "radio", "button", "file"].includes((target as HTMLInputElement).type);
  return event.key === " " && (tag === "BUTTON" || tag === "A" || tag === "SUMMARY" || tag === "INPUT");
}

export function listenToKeys(studio: Studio): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.metaKey || event.altKey || typing(event)) return;
    if (event.ctrlKey && !["1", "3"].includes(event.key)) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const found = SHORTCUTS.find((one) => one.keys.includes(key));
    if (!found) return;
    event.preventDefault();
    found.act(studio, event);
  });
  // What was clicked gives the keys back, so that space plays instead of clicking it again.
  addEventListener("click", (event) => {
    const target = event
      .composedPath()
      .find(
        (one) => one instanceof HTMLElement && (one.tagName === "BUTTON" || (one as HTMLInputElement).type === "range"),
      );
    if (event.detail > 0) (target as HTMLElement | undefined)?.blur();
  });
}
