// The design system of the page: colors, spacing, sizes of text, corners. Everything else refers to these.

export const DARK = {
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
export type Colors = typeof DARK;

export const LIGHT: Colors = {
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

/** Spacing in steps of 4 pixels, sizes of text, and corners; the same in light and dark. */
export const SIZES = {
  "space-1": "4px",
  "space-2": "8px",
  "space-3": "12px",
  "space-4": "16px",
  "space-5": "24px",
  "text-tiny": "11px",
  "text-small": "12px",
  "text-normal": "14px",
  "text-title": "15px",
  "text-large": "22px",
  "text-code": "12px/1.4 ui-monospace, monospace",
  round: "5px",
  "round-large": "8px",
  shadow: "0 10px 30px #0006",
};
