// Groups of similar takes: how groups of one name differ, and renaming, merging and splitting.

import type { Cluster } from "../net/types";

const TURNING = 10; // degrees per second from which a group turns
const MOVING = 0.25; // meters per second from which the speed says something
const SPREAD = 0.1; // meters per second by which speeds of groups must differ to be worth saying
const SHOWN = 3; // differences

/** Name of a group without one. */
export const UNNAMED = "other motions";

export interface NamedGroups {
  name: string;
  groups: readonly Cluster[];
  takes: number;
}

/** Groups by name, the name with the most takes first; unnamed ones last. */
export function byNames(clusters: readonly Cluster[]): NamedGroups[] {
  const names = new Map<string, Cluster[]>();
  for (const cluster of clusters) names.set(cluster.name, [...(names.get(cluster.name) ?? []), cluster]);
  return [...names]
    .map(([name, groups]) => ({ name, groups, takes: groups.reduce((sum, one) => sum + one.motions.length, 0) }))
    .sort((a, b) => Number(!a.name) - Number(!b.name) || b.takes - a.takes);
}

/** The part of a take's name before the first separator, which often names the performer or session. */
export function performerOf(name: string): string {
  return /^[^_\-/ .]+/.exec(name)?.[0] ?? "";
}

/** What distinguishes a group from the others of its name: speed, turn, other events, performer. */
export function differences(cluster: Cluster, siblings: readonly Cluster[]): string[] {
  const said: string[] = [];
  const speeds = siblings.map((one) => one.speed);
  if (cluster.speed > MOVING && (siblings.length < 2 || Math.max(...speeds) - Math.min(...speeds) > SPREAD))
    said.push(`${cluster.speed.toFixed(1)} m/s`);
  if (Math.abs(cluster.turn) > TURNING) said.push(`turns ${cluster.turn > 0 ? "left" : "right"}`);
  const common = (event: string) => siblings.length > 1 && siblings.every((one) => one.events.includes(event));
  const turns = said.some((one) => one.startsWith("turns"));
  said.push(...cluster.events.filter((event) => !common(event) && !(turns && event.startsWith("turn"))));
  const [performer, ...others] = new Set(cluster.motions.map(performerOf));
  const everybody = new Set(siblings.flatMap((one) => one.motions.map(performerOf)));
  const short = said.slice(0, SHOWN - 1);
  if (!others.length && everybody.size > 1 && cluster.motions.length > 1) short.push(`only ${performer}`);
  else short.push(...said.slice(SHOWN - 1, SHOWN));
  return short;
}

/** Give all groups of a name another name. */
export function renamed(clusters: readonly Cluster[], before: string, name: string): Cluster[] {
  return clusters.map((one) => (one.name === before ? { ...one, name } : one));
}

/** Name the groups without a name as the groups in `others` that have their most typical takes. */
export function namedLike(clusters: readonly Cluster[], others: readonly Cluster[]): Cluster[] {
  return clusters.map((one) =>
    one.name ? one : { ...one, name: others.find((other) => other.motions.includes(one.motions[0]))?.name ?? "" },
  );
}

/** Join groups, given by their most typical takes; the largest gives its name and comes first. */
export function merged(clusters: readonly Cluster[], heads: ReadonlySet<string>): Cluster[] {
  const parts = clusters.filter((one) => heads.has(one.motions[0]));
  if (parts.length < 2) return [...clusters];
  const [first] = [...parts].sort((a, b) => b.motions.length - a.motions.length);
  const others = parts.filter((one) => one !== first);
  const whole: Cluster = {
    ...first,
    name: first.name || (others.find((one) => one.name)?.name ?? ""),
    motions: [first, ...others].flatMap((one) => one.motions),
    seconds: parts.reduce((sum, one) => sum + one.seconds, 0),
    events: first.events.filter((event) => others.every((one) => one.events.includes(event))),
  };
  return clusters.filter((one) => one === first || !others.includes(one)).map((one) => (one === first ? whole : one));
}

/** Replace a group by its parts; parts without a name keep the name of the group. */
export function split(clusters: readonly Cluster[], head: string, parts: readonly Cluster[]): Cluster[] {
  return clusters.flatMap((one) =>
    one.motions[0] === head ? parts.map((part) => ({ ...part, name: part.name || one.name })) : [one],
  );
}
