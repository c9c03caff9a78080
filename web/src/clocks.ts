// On which clock queries answer. On an event clock instants are what producers have stamped, and their age says nothing.

import type { QueryInfo, StreamInfo } from "./types";

/** The names of the queries whose instants are stamps of producers, also through streams that other queries make. */
export function onEventClock(queries: readonly QueryInfo[], streams: readonly StreamInfo[]): ReadonlySet<string> {
  const found = new Set<string>();
  const stamped = new Set(streams.filter(({ clock }) => clock === "event").map(({ iri }) => iri));
  for (let before = -1; before !== found.size;) {
    before = found.size;
    for (const { name, streams: read, stream } of queries) {
      if (found.has(name) || !read.some((iri) => stamped.has(iri))) continue;
      found.add(name);
      if (stream) stamped.add(stream);
    }
  }
  return found;
}
