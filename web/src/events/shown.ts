// Which instant of a query is looked at: the newest (following), or the one that the address says (frozen).
//
//     const shown = useShown("HotRooms");
//     shown.answer, shown.before         // the answer, and the one before it, for what is new and what has ceased
//     shown.freeze(at); shown.follow(); shown.step(-1);
//
// An instant that this tab has not heard of is asked for; an address that was sent by somebody else shows what they saw.

import { useEffect, useState } from "preact/hooks";
import { call, queryPath, sentence } from "../api";
import { route, say } from "../route";
import { useStore } from "../store";
import { answerOf, type Answer, type Told } from "./answer";
import { useFeed, type Feed } from "./feed";

export interface Shown {
  feed: Feed;
  /** The instant in the address; null while following. */
  frozen: number | null;
  answer: Answer | undefined;
  before: Answer | undefined;
  problem: string | undefined;
  freeze: (at?: number) => void;
  follow: () => void;
  /** To the instant some steps before (-1) or after (1) the one that is looked at. */
  step: (by: number) => void;
}

export function useShown(name: string): Shown {
  const feed = useFeed(name);
  const asked = Number(useStore(route).asked.at ?? NaN);
  const frozen = Number.isFinite(asked) ? asked : null;
  const [fetched, setFetched] = useState<Answer | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const place = frozen === null ? feed.answers.length - 1 : feed.answers.findIndex(({ at }) => at === frozen);
  const heard = place >= 0 ? feed.answers[place] : undefined;
  const missing = frozen !== null && !heard && fetched?.at !== frozen;
  useEffect(() => {
    setProblem(undefined);
    if (!missing) return;
    const ended = new AbortController();
    const accept = "application/sparql-results+json, application/n-triples;q=0.9";
    call("GET", `${queryPath(name)}/answers?at=${frozen}`, { accept, signal: ended.signal })
      .then(async (response) => {
        const graph = response.headers.get("Content-Type")?.startsWith("application/n-triples");
        const told = graph ? { triples: await response.text() } : ((await response.json()) as Told);
        if (!ended.signal.aborted) setFetched(answerOf({ ...told, at: frozen }));
      })
      .catch((error: unknown) => ended.signal.aborted || setProblem(sentence(error)));
    return () => ended.abort();
  }, [name, frozen, missing]);
  const answer = heard ?? (frozen !== null && fetched?.at === frozen ? fetched : undefined);
  const before = place > 0 ? feed.answers[place - 1] : undefined;
  return {
    feed,
    frozen,
    answer,
    before,
    problem,
    freeze: (at) => say({ at: at ?? answer?.at ?? null }),
    follow: () => say({ at: null }),
    step: (by) => {
      const next = feed.answers[(place < 0 ? feed.answers.length - 1 : place) + by];
      if (next) say({ at: next.at });
    },
  };
}
