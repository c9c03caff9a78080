// Answers before this page was opened: the feed is made to reach back to them, once.
//
//     useHistory(query, shown.feed);

import { useEffect } from "preact/hooks";
import { reachBack, type Feed } from "../events/feed";
import type { QueryInfo } from "../types";

export const MOST_INSTANTS = 300;
const ASKED = 200;
const MOST_ROWS = 300_000; // that are asked for, if as many change at each instant as did at the last one

/** From which instant on there are about as many as are asked for; all of them, where instants keep no step. */
function begin({ latest, oldest, every, windows }: QueryInfo, instants: number): number | undefined {
  if (latest === null || oldest === null) return undefined;
  const step = every ?? Math.min(...windows.map((window) => window.step ?? window.range ?? Infinity));
  return Number.isFinite(step) ? Math.max(oldest, latest - (instants - 1) * step) : oldest;
}

export function useHistory(query: QueryInfo, { held: { answer, steps } }: Feed): void {
  const there = query.latest !== null && answer !== undefined;
  useEffect(() => {
    if (!answer) return;
    const last = steps.at(-1)?.change;
    const changed = last ? last.added.length + last.removed.length : answer.rows.length;
    const from = begin(query, Math.max(1, Math.min(ASKED, Math.floor(MOST_ROWS / (changed + 1)))));
    if (from !== undefined && from < (steps[0]?.at ?? Infinity)) reachBack(query.name, from);
  }, [query.id, there]);
}
