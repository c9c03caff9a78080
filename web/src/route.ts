// The address says what is shown: everything behind `#` is ours, everything before it is the server's.
//
//     #/queries/HotRooms?tab=chart&at=1700000000000     { path: ["queries", "HotRooms"], asked: { tab, at } }
//
// So reloading, bookmarking and sending an address to somebody else all show the same thing.

import { Store } from "./store";

export interface Route {
  path: string[];
  asked: Record<string, string>;
}

export function parse(hash: string): Route {
  const [path = "", asked = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return {
    path: path.split("/").filter(Boolean).map(decoded),
    asked: Object.fromEntries(new URLSearchParams(asked)),
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function href(path: string[], asked: Record<string, string | number | null | undefined> = {}): string {
  const said = Object.entries(asked).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = new URLSearchParams(said.map(([name, value]) => [name, String(value)])).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${query && `?${query}`}`;
}

export const route = new Store<Route>(parse(location.hash));
addEventListener("hashchange", () => route.set(parse(location.hash)));

export function go(path: string[], asked: Record<string, string | number | null | undefined> = {}): void {
  location.hash = href(path, asked);
}

/** Change what the address says of this page, without a step in the history: filters, tabs, instants. */
export function say(asked: Record<string, string | number | null>): void {
  history.replaceState(null, "", href(route.value.path, { ...route.value.asked, ...asked }));
  route.set(parse(location.hash));
}
