// A contact sheet (plots/pages/assets/sheet.html): a filter by words and labels, and a large view of the chosen clip.

import type { MotionloomPlayer } from "./player";

const MOST_LABELS = 40;

const find = <T extends HTMLElement>(name: string): T => document.getElementById(name) as T;
const counted = (count: number) => (count === 1 ? "1 clip" : `${count.toLocaleString("en")} clips`);

export function startSheet(): void {
  const cards = [...document.querySelectorAll<HTMLElement>(".clip")];
  const dialog = find<HTMLDialogElement>("large");
  const player = find<MotionloomPlayer>("player");
  const filter = find<HTMLInputElement>("filter");
  const chosen = new Set<string>(); // labels that a clip must have
  const labelsOf = (card: HTMLElement) => Array.from(card.querySelectorAll(".chip"), (chip) => chip.textContent ?? "");
  const shown = () => cards.filter((card) => !card.hidden);
  let open: HTMLElement | null = null;

  const apply = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const card of cards) {
      const text = card.querySelector(".words")!.textContent!.toLowerCase();
      const labels = labelsOf(card);
      card.hidden = !(
        words.every((word) => text.includes(word)) && [...chosen].every((label) => labels.includes(label))
      );
    }
    const left = shown().length;
    const all = counted(cards.length);
    find("count").textContent = left === cards.length ? all : `${left.toLocaleString("en")} of ${all}`;
    find("nothing").hidden = left > 0 || cards.length === 0;
    for (const button of find("labels").children as HTMLCollectionOf<HTMLElement>)
      button.ariaPressed = String(chosen.has(button.dataset.label!));
  };
  const choose = (label: string) => {
    if (!chosen.delete(label)) chosen.add(label);
    apply();
  };
  const enlarge = (card: HTMLElement) => {
    open = card;
    if (!dialog.open) dialog.showModal();
    dialog.ariaLabel = card.querySelector("h2")!.textContent;
    player.setAttribute("clip", card.querySelector("motionloom-player")!.getAttribute("clip")!);
    find("about").textContent = labelsOf(card).join(" · ");
  };
  const step = (by: number) => {
    const list = shown();
    const next = list[(list.indexOf(open!) + by + list.length) % list.length];
    if (next) enlarge(next);
  };

  const counts = new Map<string, number>();
  for (const card of cards) for (const label of labelsOf(card)) counts.set(label, (counts.get(label) ?? 0) + 1);
  const common = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  for (const [label, count] of common.slice(0, MOST_LABELS)) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", textContent: `${label} ${count}`, onclick: () => choose(label) });
    button.dataset.label = label;
    find("labels").append(button);
  }
  filter.oninput = apply;
  find<HTMLInputElement>("size").oninput = (event) =>
    document.documentElement.style.setProperty("--cell", `${(event.target as HTMLInputElement).value}px`);
  dialog.onclose = () => {
    player.removeAttribute("clip");
    open?.querySelector<HTMLElement>(".open")?.focus();
  };
  dialog.onclick = (event) => {
    if (event.target === dialog) dialog.close();
  };
  find("previous").onclick = () => step(-1);
  find("next").onclick = () => step(1);
  find("close").onclick = () => dialog.close();
  find("sheet").onclick = (event) => {
    const at = event.target as HTMLElement;
    const card = at.closest<HTMLElement>(".clip");
    if (at.className === "chip") choose(at.textContent!);
    else if (card) enlarge(card);
  };
  document.addEventListener("keydown", (event) => {
    if (dialog.open && (event.key === "PageUp" || event.key === "PageDown")) {
      step(event.key === "PageUp" ? -1 : 1);
      event.preventDefault();
    } else if (!dialog.open && event.key === "/" && document.activeElement !== filter) {
      filter.focus();
      event.preventDefault();
    }
  });
  apply();
}
