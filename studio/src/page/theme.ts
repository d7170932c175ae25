// Colors of the page, light or dark according to the system: CSS variables, and colors for canvases.

const DARK = {
  ink: "#d9dee7",
  faint: "#98a1b1",
  line: "#2c323c",
  edge: "#4a5261",
  panel: "#1f242c",
  raised: "#272d37",
  well: "#12151a",
  card: "#181c22",
  chip: "#303844",
  stage: "#171a20",
  accent: "#e0823d",
  cool: "#4f9fd8",
  good: "#7cb85c",
  bad: "#e07a7a",
  warn: "#d8c14f",
  "on-accent": "#14110e",
  mark: "#ffffff",
  figure: "#aab4c4",
};
type Colors = typeof DARK;

const LIGHT: Colors = {
  ink: "#1c222b",
  faint: "#566070",
  line: "#d3d9e2",
  edge: "#9aa5b5",
  panel: "#ffffff",
  raised: "#eef1f5",
  well: "#f1f4f8",
  card: "#f7f9fb",
  chip: "#dfe5ee",
  stage: "#e6eaf0",
  accent: "#a8500c",
  cool: "#1d6aa8",
  good: "#35701b",
  bad: "#b3322f",
  warn: "#7a6300",
  "on-accent": "#ffffff",
  mark: "#000000",
  figure: "#4b5666",
};

const light = typeof matchMedia === "function" ? matchMedia("(prefers-color-scheme: light)") : null;
const calm = typeof matchMedia === "function" ? matchMedia("(prefers-reduced-motion: reduce)") : null;

/** Fires "change" when the system switches between light and dark. */
export const theme = new EventTarget();

/** A color of the page, for canvases and the stage. */
export function color(name: keyof Colors): string {
  return (light?.matches ? LIGHT : DARK)[name];
}

/** True if the system prefers reduced motion: pictures then stay still until they are played. */
export function reducedMotion(): boolean {
  return calm?.matches ?? false;
}

/** Set the CSS variables `--ink`, `--panel`, ... of the document, now and when the system switches. */
export function applyTheme(): void {
  const apply = () => {
    const { style } = document.documentElement;
    for (const name of Object.keys(DARK) as (keyof Colors)[]) style.setProperty(`--${name}`, color(name));
    style.setProperty("color-scheme", light?.matches ? "light" : "dark");
    style.background = color("stage");
    theme.dispatchEvent(new Event("change"));
  };
  light?.addEventListener("change", apply);
  apply();
}
