// Tokens as CSS variables, light or dark according to the system, and colors for canvases.

import { DARK, LIGHT, SIZES, type Colors } from "./tokens";

const light = typeof matchMedia === "function" ? matchMedia("(prefers-color-scheme: light)") : null;
const calm = typeof matchMedia === "function" ? matchMedia("(prefers-reduced-motion: reduce)") : null;

// `matches` is read here and on "change" only: Chromium omits the event if it is read just before.
let isLight = light?.matches ?? false;

/** Fires "change" when the system switches between light and dark. */
export const theme = new EventTarget();

/** A color of the page, for canvases and the stage. */
export function color(name: keyof Colors): string {
  return (isLight ? LIGHT : DARK)[name];
}

/** True if the system prefers reduced motion: pictures then stay still until they are played. */
export function reducedMotion(): boolean {
  return calm?.matches ?? false;
}

/** Set the CSS variables `--ink`, `--panel`, ... of the document, now and when the system switches. */
export function applyTheme(): void {
  const apply = () => {
    isLight = light?.matches ?? false;
    const { style } = document.documentElement;
    for (const name of Object.keys(DARK) as (keyof Colors)[]) style.setProperty(`--${name}`, color(name));
    for (const [name, size] of Object.entries(SIZES)) style.setProperty(`--${name}`, size);
    style.setProperty("color-scheme", isLight ? "light" : "dark");
    style.background = color("stage");
    theme.dispatchEvent(new Event("change"));
  };
  light?.addEventListener("change", apply);
  apply();
}
