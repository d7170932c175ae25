// Deep links: #/view?key=value holds all that a view needs to show the same again.

export interface Route { view: string; query: Record<string, string> }

export function readRoute(): Route {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { view: path || "library", query: Object.fromEntries(new URLSearchParams(query)) };
}

export function writeRoute(route: { view: string; query: Record<string, string | number | undefined> }): void {
  const given = Object.entries(route.query).filter(([, value]) => value !== undefined && value !== "");
  const query = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  location.hash = `#/${route.view}${query ? `?${query}` : ""}`;
}
