// Colors of the player: light or dark like the page behind it.

export type Rgb = [number, number, number];

export interface Ink {
  paper: Rgb;
  page: string;
  grid: Rgb;
  shadow: [string, string];
  path: Rgb;
  left: Rgb;
  middle: Rgb;
  right: Rgb;
  dark: Rgb;
  bright: Rgb;
  /** Walls, columns and lines of a floor. */
  wall: string;
  column: string;
  street: string;
}

const LIGHT: Ink = {
  paper: [255, 255, 255],
  page: "#fff",
  grid: [120, 130, 150],
  shadow: ["#eceef2", "#dadee5"],
  path: [18, 148, 111],
  left: [47, 126, 216],
  middle: [70, 80, 95],
  right: [232, 103, 44],
  dark: [16, 20, 30],
  bright: [255, 255, 255],
  wall: "#4d4d4d",
  column: "#8c8c8c",
  street: "#cfd3da",
};
const DARK: Ink = {
  paper: [21, 24, 29],
  page: "#15181d",
  grid: [150, 165, 190],
  shadow: ["#101317", "#0a0c0f"],
  path: [64, 201, 155],
  left: [98, 168, 247],
  middle: [190, 199, 212],
  right: [255, 142, 86],
  dark: [10, 12, 16],
  bright: [255, 255, 255],
  wall: "#a8b0bd",
  column: "#6b7380",
  street: "#3d4551",
};

export const inkOf = (dark: boolean): Ink => (dark ? DARK : LIGHT);

export function mixed(color: Rgb, other: Rgb, share: number): string {
  return `rgb(${color.map((value, k) => Math.round(value + share * (other[k] - value)))})`;
}

/** Whether the nearest background behind the element is dark, or else whether the page prefers dark. */
export function onDark(element: Element | null): boolean {
  for (let one = element; one; one = one.parentElement ?? shadowHost(one)) {
    const parts = getComputedStyle(one)
      .backgroundColor.match(/[\d.]+/g)
      ?.map(Number);
    if (!parts || (parts.length > 3 && parts[3] < 0.5)) continue;
    return 0.3 * parts[0] + 0.6 * parts[1] + 0.1 * parts[2] < 110;
  }
  const scheme = getComputedStyle(document.documentElement).colorScheme;
  return scheme.includes("dark") && matchMedia("(prefers-color-scheme: dark)").matches;
}

function shadowHost(element: Element): Element | null {
  const root = element.getRootNode();
  return root instanceof ShadowRoot ? root.host : null;
}
