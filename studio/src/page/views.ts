// The tabs: one per job, in the order of the documentation and of `motionloom --help`. A job may have several views.

export interface ViewEntry {
  /** Its name in the address. */
  path: string;
  title: string;
  tag: string;
  /** True if the panel takes more than half of the window. */
  wide?: boolean;
  /** True if it is reached from another view of its tab, not by a link. */
  inner?: boolean;
}

export interface Tab {
  title: string;
  /** What it is for, as a user would say it. */
  does: string;
  views: ViewEntry[];
}

export const TABS: readonly Tab[] = [
  {
    title: "Library",
    does: "here are my files; find everything like this",
    views: [
      { path: "library", title: "Library", tag: "loom-library-view", wide: true },
      { path: "search", title: "Search", tag: "loom-search-view", wide: true, inner: true },
      { path: "show", title: "Show it", tag: "loom-show-view", inner: true },
    ],
  },
  { title: "Aim", does: "a kick that lands here", views: [{ path: "aim", title: "Aim", tag: "loom-aim-view" }] },
  {
    title: "Walk",
    does: "go along this path, forever",
    views: [{ path: "walk", title: "Walk", tag: "loom-walk-view" }],
  },
  { title: "Play", does: "let me steer it", views: [{ path: "play", title: "Play", tag: "loom-play-view" }] },
  {
    title: "Dance",
    does: "on the beat of this song",
    views: [
      { path: "dance", title: "Dance", tag: "loom-dance-view" },
      { path: "crowd", title: "Crowd", tag: "loom-crowd-view" },
    ],
  },
  {
    title: "Script",
    does: "walk 3 s, sit down, wave",
    views: [{ path: "script", title: "Script", tag: "loom-script-view" }],
  },
  {
    title: "Lab",
    does: "see why: families, distances and transitions",
    views: [
      { path: "family", title: "Family", tag: "loom-family-view", wide: true },
      { path: "grid", title: "Distance grid", tag: "loom-grid-view", wide: true },
      { path: "graph", title: "Transitions", tag: "loom-graph-view", wide: true },
    ],
  },
];

export const VIEWS: readonly ViewEntry[] = TABS.flatMap((tab) => tab.views);

/** The tab of a view; the first if the view is not known. */
export function tabOf(path: string): Tab {
  return TABS.find((tab) => tab.views.some((view) => view.path === path)) ?? TABS[0];
}
