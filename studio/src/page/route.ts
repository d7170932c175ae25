// Deep links: #/view?key=value holds the state of a view.

export interface Route {
  view: string;
  query: Record<string, string>;
}

export function readRoute(): Route {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { view: path || "library", query: Object.fromEntries(new URLSearchParams(query)) };
}

export type RouteTarget = { view: string; query: Record<string, string | number | undefined> };

export function address({ view, query }: RouteTarget): string {
  return withQuery(`#/${view}`, query);
}

/** A path with ?key=value behind it; empty values are left out, lists give one pair per value. */
export function withQuery(path: string, query: Record<string, unknown> = {}): string {
  const pairs = Object.entries(query).flatMap(([key, value]) => [value].flat().map((one) => [key, one] as const));
  const given = pairs.filter(([, value]) => value !== undefined && value !== "");
  const text = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return text ? `${path}?${text}` : path;
}

export function pushRoute(route: RouteTarget): void {
  location.hash = address(route);
}

/** Change the address without an event and without a new entry in the browser's history. */
export function replaceRoute(route: RouteTarget): Route {
  history.replaceState(null, "", address(route));
  return readRoute();
}
