// The views, as plain data: path in the address, title, element, and how much room it wants.

import "./dance-view";
import "./library-view";

export interface ViewEntry { path: string; title: string; tag: string; wide?: boolean }

export const VIEWS: ViewEntry[] = [
  { path: "library", title: "Library", tag: "loom-library-view" },
  { path: "dance", title: "Dance", tag: "loom-dance-view" },
];
