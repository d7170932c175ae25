// Deep links: #/view?key=value holds all that a view needs to show the same again.

export interface Route {
  view: string;
  query: Record<string, string>;
}

export function readRoute(): Route {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { view: path || "library", query: Object.fromEntries(new URLSearchParams(query)) };
}

export type Given = { view: string; query: Record<string, string | number | undefined> };

export function address({ view, query }: Given): string {
  return withQuery(`#/${view}`, query);
}

/** A path with ?key=value behind it; empty values are left out, lists give one pair per value. */
export function withQuery(path: string, query: Record<string, unknown> = {}): string {
  const pairs = Object.entries(query).flatMap(([key, value]) => [value].flat().map((one) => [key, one] as const));
  const given = pairs.filter(([, value]) => value !== undefined && value !== "");
  const text = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return text ? `${path}?${text}` : path;
}

export function writeRoute(route: Given): void {
  location.hash = address(route);
}

/** Put it into the address without telling anybody, as while something is dragged. */
export function noteRoute(route: Given): Route {
  history.replaceState(null, "", address(route));
  return readRoute();
}
