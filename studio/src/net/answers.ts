// Answers that the server's OpenAPI document does not describe: JSON without a response model, and the JSON headers of
// array messages. When a route gets a response model, its line here is deleted.

/** The command line and the Python code of a request. */
export interface CodeLines {
  cli: string;
  python: string;
}

/** A long computation on the server. */
export interface Job<Result = unknown> {
  id: number;
  title: string;
  done: number;
  total: number | null;
  state: "running" | "done" | "failed" | "stopped";
  error: string;
  result: Result;
}

/** A segment of a motion, with its result in a search. */
export interface Clip {
  motion: string;
  start_frame: number;
  end_frame: number;
  distance?: number | null;
  tier?: number | null;
  label?: string | null;
}

export interface SearchMethod {
  name: string;
  about: string;
  unit: string | null;
  whole_clips: boolean;
  options: string[];
  threshold_filters: boolean;
}
interface NamedUnit {
  name: string;
  unit: string;
}
export interface SearchMenu {
  methods: SearchMethod[];
  features: NamedUnit[];
  distances: NamedUnit[];
  ranks: string[];
  labels: { name: string; count: number }[];
  defaults: { k: number };
}
/** Match webs that a search needs and that are not built yet. */
export interface MissingWebs {
  what: string;
  pairs: number;
  words: string;
}
export interface Match extends Clip {
  start: number;
  end: number;
  distance: number;
  tier: number;
  label: string | null;
  /** Found as the mirror image of the query. */
  mirrored: boolean;
}
export interface QuerySegment {
  motion: string;
  start_frame: number;
  end_frame: number;
  fps: number;
}

export interface FamilyNode {
  motion: string;
  start_frame: number;
  end_frame: number;
  distance_to_query: number;
  tier: number;
  label: string | null;
  place: [number, number];
  frames: number[];
}
export interface FamilyEdge {
  a: number;
  b: number;
  cost: number;
  way: boolean;
  cuts_off: number;
}
export interface Family {
  id: string;
  query: string;
  fps: number;
  unit: string;
  seconds: number;
  join_distance: number | null;
  sweep: { proposed: number; plateau: [number, number]; limits: number[]; sizes: number[] } | null;
  nodes: FamilyNode[];
  edges: FamilyEdge[];
  tier_colours: string[];
  lines: CodeLines;
}

export interface GridSide {
  motion: string;
  first: number;
  fps: number;
  frames: number;
}
interface GridHead {
  rows: GridSide;
  columns: GridSide;
  high: number;
  low: number;
  unit: string;
  rate: number;
  step: number;
  lines: CodeLines;
}
export interface GridMatch {
  motion: string;
  start_frame: number;
  end_frame: number;
  distance: number;
}

interface GraphInfo {
  motions: number;
  frames: number;
  transitions: number;
  transitions_per_minute: number;
  distance: string;
  threshold: number;
  removed: { motions: string[]; transitions: number; footing: number; abrupt: number; by_hand: number };
}
export interface GraphHead {
  names: string[];
  frames: number[];
  fps: number;
  playable: string[];
  states: string[];
  info: GraphInfo;
  lines: CodeLines;
  flags: string[];
  walk_flags: string[];
}

export interface MovementNode {
  name: string;
  start: number;
  members: string[];
}
export interface MovementEdge {
  from: string;
  to: string;
  likelihood: number;
}
export interface MovementGraphData {
  name: string;
  kind: string;
  meter: number;
  seconds: number;
  nodes: MovementNode[];
  edges: MovementEdge[];
  dead_ends: string[];
}
export interface Choreography {
  id: string;
  meter: number;
  tempo: number;
  movements: number;
  nodes: { name: string; members: string[] }[];
  left_out: Record<string, string>;
}
export interface Music {
  id: string;
  name: string;
  /** Name of the file; empty for a generated tune. */
  file: string;
  seconds: number;
  bpm: number;
  meter: number;
  beats: number[];
  downbeats: number[];
}

/** A phrase of a script, the segments that show it, best first, or what comes near. */
export interface ScriptPhrase {
  text: string;
  near: string[];
  options: { segment: string; text: string; match: number }[];
}
/** A segment of an acted script: seconds [start, end) of the result. */
export interface PlannedPhrase {
  /** Number of its phrase; -1 for a bridge. */
  number: number;
  segment: string;
  text: string;
  match: number;
  seam: number;
  start: number;
  end: number;
}
export interface ActedScript {
  /** With the segments that were chosen by hand. */
  script: string;
  phrases: ScriptPhrase[];
  plan: PlannedPhrase[];
  quality: Quality | null;
  lines: CodeLines;
}

/** Quality of a synthesized motion: one line, and a sentence for each limit passed. */
export interface Quality {
  line: string;
  warnings: string[];
}
export interface CrowdResult extends CodeLines {
  id: string;
  characters: number;
  quality: Quality | null;
  beats_total: number;
  beats_within_one_frame: number;
  clearance_m?: number;
  radius_m?: number;
  left_feet_in_step?: number;
  misplacement_m?: number;
}

export interface ParameterKind {
  name: string;
  words: string;
  joint: boolean;
  frame: boolean;
  axes: string[];
}
export interface ParametricEntry {
  name: string;
  by: string[];
  examples: number;
}

export interface ImportResult {
  added: number;
  replaced: number;
  skipped: number;
  failed: { file: string; reason: string }[];
  names: string[];
}

/** Joints of a skeleton. */
export interface Bones {
  joints: string[];
  parents: number[];
  roles: Record<string, number>;
  /** Key of the skeleton's body; null if it has too few roles for one. */
  body?: string | null;
  /** Scale at which it is shown; default 1. A user's own character has the size of the performer where paths, targets
   * and marks must stay in their places. */
  size?: number;
}
export interface MotionHead extends Bones {
  name: string;
  fps: number;
  frames: number;
}
export interface WalkHead extends MotionHead {
  quality: Quality | null;
}
export interface CrowdHead {
  fps: number;
  frames: number;
  characters: (Bones & { name: string })[];
  bodies: number;
  room: [number, number] | null;
}
export interface DanceHead extends CrowdHead {
  motion_beats: number[];
  music_beats: number[];
  beats_total: number;
  beats_within_one_frame: number;
  nodes: string[];
  quality: Quality | null;
}
export interface ParametricHead extends Bones {
  name: string;
  by: string[];
  axes: string[];
  numbers: number[];
  examples: string[];
  left_out: string[];
  fps: number;
}
/** How a small figure is drawn: bones between its points. */
export interface FigureBody {
  bones: [number, number][];
  sides: number[];
  widths: number[];
  head: [number, number] | null;
  anchor: number;
}
interface AlignedHead {
  clips: { name: string; fps: number; frames: number; points: number; joints: number; body: number }[];
  bodies: (FigureBody & Bones)[];
}

/** Frames of a take in a streamed motion: frames [start, end) of the stream. */
export interface PlayedSource {
  motion: string;
  start_frame: number;
  end_frame: number;
  start: number;
  end: number;
}
export interface ReachHead {
  reached: number[];
  off: number;
  outside: boolean;
  keys: (number | null)[];
  frames: number;
  milliseconds: number;
}

/** A matching database. */
export interface MatchingInfo {
  takes: number;
  frames: number;
  fps: number;
  /** Seconds of each gait and label. */
  tags: Record<string, number>;
  /** Slowest and fastest, m/s. */
  speeds: [number, number];
  /** Whether standing poses were made, because no take has any. */
  made: boolean;
  skipped: Record<string, string>;
  lines: CodeLines;
}
/** What a character of motion matching does: places are x, z, facing; velocities x, z. */
export interface MatchState {
  take: string;
  frame: number;
  mirrored: boolean;
  cost: number;
  going_on: number;
  place: [number, number, number];
  velocity: [number, number];
  desired: [number, number];
  trajectory: [number, number, number][];
  tag: string;
  jumps: number;
}

/** Headers of the answers to live requests, by kind. */
export interface LiveHeads {
  "dance/read": { start: number };
  "dance/start": { player: number; fps: number; meter: number; characters: Bones[] };
  "graph/start": Bones & { player: number; fps: number };
  "match/read": MatchState & { start: number; seams: number[]; milliseconds: number };
  "match/start": Bones & { player: number; recording: string; fps: number };
  "parametric/reach": ReachHead;
  "player/close": unknown;
  "player/read": { start: number; seams: number[]; sources: PlayedSource[] };
}

/** JSON answers, by method and path. */
export interface Answers {
  "delete jobs/{number}": Job;
  "get dance/music/{key}": Music;
  "get families/{id}": Family;
  "get graphs/menu": { distances: Record<string, string>; labels: Record<string, number> };
  "get grid/lines": CodeLines;
  "get jobs/{number}": Job;
  "get motions/{name}/beats": { beats: number[]; rhythmic: boolean };
  "get movements/{name}": MovementGraphData;
  "get parametric": ParametricEntry[];
  "get parametric/kinds": ParameterKind[];
  "get search/menu": SearchMenu;
  "post act": Job<ActedScript>;
  "post crowds": Job<CrowdResult>;
  "post dance/choreographies": Job<Choreography>;
  "post dance/tunes": Music;
  "post families": Family;
  "post families/grow": Job;
  "post families/lines": { lines: CodeLines };
  "post graphs": Job<GraphInfo>;
  "post matching": Job<MatchingInfo>;
  "post matching/coverage": Job<{ id: string; sentences: string[] }>;
  "post movements": Job;
  "post movements/{name}/edits": MovementGraphData;
  "post parametric": Job<{ name: string; left_out: string[] }>;
  "post search/lines": CodeLines;
  "post search/prepare": { job: Job | null; lacking: MissingWebs | null };
  "post search/web": Job;
  "post uploads/{id}/import": Job<ImportResult>;
  "put dance/music/{filename}": Music;
}

/** JSON headers of array messages, by path. */
export interface Heads {
  "act/motion": MotionHead;
  "crowds/{id}": CrowdHead;
  "dance/performances": DanceHead;
  "graphs/drawn": GraphHead;
  "graphs/transition": MotionHead;
  "graphs/walk": WalkHead;
  grid: GridHead;
  "grid/marks": unknown;
  "grid/paths": { matches: GridMatch[] };
  "grid/web": { chains: number; bridges: number; matches: number; whole: { chains: number; bridges: number } | null };
  "motions/{name}/frames": MotionHead;
  "motions/{name}/strips": unknown;
  "movements/{name}/dance": MotionHead;
  "parametric/{name}": ParametricHead;
  poses: AlignedHead;
  search: { query: QuerySegment; unit: string; seconds: number; matches: Match[]; lines: CodeLines };
  "bodies/{key}": { body: string };
  thumbnails: { motions: { name: string; parents?: number[]; fps?: number }[] };
}
