// Answers before this page was opened: asked for once, and then what is heard is added to them.
//
//     const answers = useHistory(query, shown.feed);        // oldest first, each instant once

import { useEffect, useMemo, useState } from "preact/hooks";
import { get, queryPath } from "../api";
import { answerOf, type Answer, type Told } from "../events/answer";
import type { Feed } from "../events/feed";
import type { QueryInfo } from "../types";

export const MOST_INSTANTS = 300;
const ASKED = 200;
const ALL = 1000;

/** From which instant on there are about as many as are asked for; all of them, where instants keep no step. */
function begin({ latest, oldest, every, windows }: QueryInfo): { from: number; limit: number } | undefined {
  if (latest === null || oldest === null) return undefined;
  const step = every ?? Math.min(...windows.map((window) => window.step ?? window.range ?? Infinity));
  if (!Number.isFinite(step)) return { from: oldest, limit: ALL };
  return { from: Math.max(oldest, latest - (ASKED - 1) * step), limit: ALL };
}

export function useHistory(query: QueryInfo, feed: Feed): readonly Answer[] {
  const [past, setPast] = useState<readonly Answer[]>([]);
  const there = query.latest !== null;
  useEffect(() => {
    const from = begin(query);
    if (!from) return;
    const ended = new AbortController();
    get<Told[]>(`${queryPath(query.name)}/answers?from=${from.from}&limit=${from.limit}`, ended.signal)
      .then((told) => setPast(told.slice(-MOST_INSTANTS).map(answerOf)))
      .catch((error: unknown) => { if (!ended.signal.aborted) console.warn(error); }); // What is heard is drawn without it.
    return () => ended.abort();
  }, [query.id, there]);
  return useMemo(() => {
    const all = new Map<number, Answer>();
    for (const answer of [...past, ...feed.answers]) all.set(answer.at, answer);
    return [...all.values()].sort((a, b) => a.at - b.at).slice(-MOST_INSTANTS);
  }, [past, feed.answers]);
}
