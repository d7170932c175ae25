// Keyboard shortcuts, in one table that the help dialog also shows.

import type { Studio } from "./studio";

export interface Shortcut {
  keys: string[];
  shown: string;
  does: string;
  act: (studio: Studio, event: KeyboardEvent) => void;
}

const SPEEDS = [0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 4];

/** Step by whole frames of the timeline's motion. */
export function step(studio: Studio, frames: number): void {
  const { clock } = studio.stage;
  const one = studio.lead;
  const fps = one?.motion.fps ?? 30;
  const start = one?.start ?? 0;
  clock.pause();
  const frame = Math.round((clock.time - start) * fps + 1e-6) + frames;
  clock.seek(Math.min(start + frame / fps, (one?.end ?? clock.end) - 1 / fps));
}

function changeSpeed(studio: Studio, by: 1 | -1): void {
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
    does: "next frame; with Shift, ten frames",
    act: (studio, event) => step(studio, event.shiftKey ? 10 : 1),
  },
  {
    keys: ["ArrowLeft", ",", "<"],
    shown: "← or ,",
    does: "previous frame; with Shift, ten frames",
    act: (studio, event) => step(studio, event.shiftKey ? -10 : -1),
  },
  { keys: ["ArrowUp"], shown: "↑", does: "go to the start", act: ({ stage }) => stage.clock.seek(stage.clock.start) },
  { keys: ["ArrowDown"], shown: "↓", does: "go to the end", act: toEnd },
  { keys: ["j"], shown: "J K L", does: "play backward, stop, play", act: ({ stage }) => stage.clock.play(-1) },
  { keys: ["k"], shown: "", does: "", act: ({ stage }) => stage.clock.pause() },
  { keys: ["l"], shown: "", does: "", act: ({ stage }) => stage.clock.play() },
  { keys: ["+", "="], shown: "+ and −", does: "faster, slower", act: (studio) => changeSpeed(studio, 1) },
  { keys: ["-"], shown: "", does: "", act: (studio) => changeSpeed(studio, -1) },
  {
    keys: ["i"],
    shown: "I and O",
    does: "set the start and end of the selected segment",
    act: (studio) => studio.mark("in"),
  },
  { keys: ["o"], shown: "", does: "", act: (studio) => studio.mark("out") },
  {
    keys: ["Escape"],
    shown: "Esc",
    does: "close a menu, stop drawing, or clear the selection",
    act: (studio) => studio.escape(),
  },
  {
    keys: ["f"],
    shown: "F",
    does: "frame the character; with Shift, toggle follow",
    act: ({ stage }, event) => (event.shiftKey ? stage.set({ follow: !stage.display.follow }) : stage.frame()),
  },
  { keys: ["Home"], shown: "Home", does: "reset the camera", act: ({ stage }) => stage.home() },
  {
    keys: ["1"],
    shown: "1 3 7",
    does: "view the front, right side or top of the character; with Ctrl, the back or left side",
    act: ({ stage }, event) => stage.view(event.ctrlKey ? "back" : "front"),
  },
  { keys: ["3"], shown: "", does: "", act: ({ stage }, event) => stage.view(event.ctrlKey ? "left" : "right") },
  { keys: ["7"], shown: "", does: "", act: ({ stage }) => stage.view("top") },
  {
    keys: ["0"],
    shown: "0",
    does: "stay behind the character, or stop turning with it",
    act: ({ stage }) => stage.stayBehind(!stage.display.turn),
  },
  {
    keys: ["w"],
    shown: "W",
    does: "switch standard views between the world and the character",
    act: ({ stage }) => stage.set({ worldViews: !stage.display.worldViews }),
  },
  {
    keys: ["v"],
    shown: "V",
    does: "switch between one, two and four views, and one view per character",
    act: ({ stage }) => stage.nextSplit(),
  },
  {
    keys: ["b"],
    shown: "B",
    does: "toggle body and skeleton",
    act: ({ stage }) => stage.set({ body: !stage.display.body }),
  },
  { keys: ["g"], shown: "G", does: "toggle ghosts", act: ({ stage }) => stage.set({ ghosts: !stage.display.ghosts }) },
  {
    keys: ["p"],
    shown: "P",
    does: "toggle the path on the floor",
    act: ({ stage }) => stage.set({ path: !stage.display.path }),
  },
  {
    keys: ["ctrl+z"],
    shown: "Ctrl+Z",
    does: "undo the last change to the library or the last verdict; with Shift, redo",
    act: (studio, event) => void (event.shiftKey ? studio.redo() : studio.undo()),
  },
  { keys: ["ctrl+y"], shown: "", does: "", act: (studio) => void studio.redo() },
  {
    keys: ["ctrl+k"],
    shown: "Ctrl+K",
    does: "find a verb, take, label or setting by typing",
    act: (studio) => void studio.requests.request("palette", null),
  },
  { keys: ["?"], shown: "?", does: "show these shortcuts", act: (studio) => studio.showHelp(!studio.state.help) },
];

/** Cards keep the focus when they are clicked, for the arrow keys; Space also plays there. */
function keepsFocus(element: HTMLElement | undefined): boolean {
  return element?.dataset?.card !== undefined;
}

/** True if the focused element handles this key. */
function typing(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0] as HTMLElement;
  const tag = target?.tagName;
  if (tag === "INPUT" && (target as HTMLInputElement).type === "range")
    return event.key.startsWith("Arrow") || event.key === "Home";
  if (tag === "TEXTAREA" || tag === "SELECT" || target?.isContentEditable) return true;
  if (tag === "INPUT") return !["checkbox", "radio", "button", "file"].includes((target as HTMLInputElement).type);
  return (
    event.key === " " &&
    !keepsFocus(target) &&
    (tag === "BUTTON" || tag === "A" || tag === "SUMMARY" || tag === "INPUT")
  );
}

export function listenToKeys(studio: Studio): void {
  addEventListener("keydown", (event) => {
    const letter = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const control = event.ctrlKey || event.metaKey;
    const anywhere = control && letter === "k"; // also while typing
    if (event.defaultPrevented || event.altKey || (typing(event) && !anywhere)) return;
    const key = control && !["1", "3"].includes(letter) ? `ctrl+${letter}` : letter;
    const shortcut = SHORTCUTS.find((one) => one.keys.includes(key));
    if (!shortcut) return;
    event.preventDefault();
    shortcut.act(studio, event);
  });
  // A clicked button loses the focus, so that Space plays instead of clicking it again.
  addEventListener("click", (event) => {
    const target = event
      .composedPath()
      .find(
        (one) => one instanceof HTMLElement && (one.tagName === "BUTTON" || (one as HTMLInputElement).type === "range"),
      );
    if (event.detail > 0 && !keepsFocus(target as HTMLElement | undefined)) (target as HTMLElement | undefined)?.blur();
  });
}
