// The views, as plain data: path in the address, title, element, and how much room it wants.

import "../dance/crowd-view";
import "../dance/dance-view";
import "../search/family-view";
import "../grid/grid-view";
import "../library/library-view";
import "../graph/graph-view";
import "../parametric/parametric-view";
import "../search/search-view";

export interface ViewEntry { path: string; title: string; tag: string; wide?: boolean }

export const VIEWS: ViewEntry[] = [
  { path: "library", title: "Library", tag: "loom-library-view" },
  { path: "search", title: "Search", tag: "loom-search-view", wide: true },
  { path: "family", title: "Family", tag: "loom-family-view", wide: true },
  { path: "grid", title: "Distance grid", tag: "loom-grid-view", wide: true },
  { path: "parametric", title: "Parametric", tag: "loom-parametric-view" },
  { path: "graph", title: "Graph", tag: "loom-graph-view", wide: true },
  { path: "dance", title: "Dance", tag: "loom-dance-view" },
  { path: "crowd", title: "Crowd", tag: "loom-crowd-view" },
];
