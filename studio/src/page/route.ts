// Deep links: #/view?key=value holds the state of a view.

import { withQuery } from "../net/api";

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

export function pushRoute(route: RouteTarget): void {
  location.hash = address(route);
}

/** Change the address without an event and without a new entry in the browser's history. */
export function replaceRoute(route: RouteTarget): Route {
  history.replaceState(null, "", address(route));
  return readRoute();
}
