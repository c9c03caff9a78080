// Which instant of a query is looked at: the newest (following), or the one that the address says (frozen).
//
//     const shown = useShown("HotRooms");
//     shown.answer, shown.change         // the answer, and what has changed at it, if that is known
//     shown.freeze(at); shown.follow(); shown.step(-1);
//
// An instant that this tab has not heard of is asked for; an address that was sent by somebody else shows what they saw.

import { useEffect, useRef, useState } from "preact/hooks";
import { sentence } from "../api";
import { route, say } from "../route";
import { useStore } from "../store";
import type { Answer } from "./answer";
import type { Change } from "./change";
import { useFeed, type Feed } from "./feed";
import { answerAt, EMPTY, type Held, type Step } from "./fold";
import { heldAt } from "./range";

export interface Shown {
  feed: Feed;
  /** The instant in the address; null while following. */
  frozen: number | null;
  answer: Answer | undefined;
  change: Change | null;
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
  const [fetched, setFetched] = useState<Held>(EMPTY);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const { held } = feed;
  const place = frozen === null ? held.steps.length - 1 : held.steps.findIndex(({ at }) => at === frozen);
  const heard = useAnswer(held, place);
  const missing = frozen !== null && !heard && fetched.answer?.at !== frozen;
  useEffect(() => {
    setProblem(undefined);
    if (!missing) return;
    const ended = new AbortController();
    heldAt(name, frozen, ended.signal)
      .then((found) => ended.signal.aborted || setFetched(found))
      .catch((error: unknown) => ended.signal.aborted || setProblem(sentence(error)));
    return () => ended.abort();
  }, [name, frozen, missing]);
  const elsewhere = frozen !== null && !heard && fetched.answer?.at === frozen;
  const answer = elsewhere ? fetched.answer : heard;
  const change = (elsewhere ? fetched.steps.at(-1) : held.steps[place])?.change ?? null;
  return {
    feed,
    frozen,
    answer,
    change,
    problem,
    freeze: (at) => say({ at: at ?? answer?.at ?? null }),
    follow: () => say({ at: null }),
    step: (by) => {
      const next = held.steps[(place < 0 ? held.steps.length - 1 : place) + by];
      if (next) say({ at: next.at });
    },
  };
}

/** The answer at a step, worked out once while it is looked at. */
function useAnswer(held: Held, place: number): Answer | undefined {
  const last = useRef<{ step: Step; answer: Answer | undefined } | undefined>(undefined);
  const step = held.steps[place];
  if (!step) return undefined;
  if (place === held.steps.length - 1) return held.answer;
  if (last.current?.step !== step) last.current = { step, answer: answerAt(held, place) };
  return last.current.answer;
}
