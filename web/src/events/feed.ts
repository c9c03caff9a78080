// A feed: what this tab knows of one query's answers, newest last, and where something is missing.
//
//     const feed = useFeed("HotRooms");          // in a component: subscribed while it is shown
//     feed.answers.at(-1)?.rows
//
// Components are told of changes ten times a second at most, however fast answers come.

import { useEffect } from "preact/hooks";
import { call, queryPath, sentence } from "../api";
import { Store, useStore } from "../store";
import { answerOf, type Answer, type Told } from "./answer";

export const MOST_ANSWERS = 600;
const DRAWING = 100;

export interface Mark {
  /** `lost`: these answers are kept no longer. `filled`: the connection was gone, and nothing is missing. `restored`: a
   * copy of the database was put back, and what was told after it was taken is not so any more. `damaged`: an answer
   * cannot be read any more. */
  kind: "lost" | "filled" | "restored" | "damaged";
  after: number;
  /** 0: nothing was told since. */
  next: number;
}

export interface Feed {
  name: string;
  answers: readonly Answer[];
  marks: readonly Mark[];
  paused: boolean;
  failure: { at: number; reason: string } | null;
  ended: string | null;
  /** Before the first answer: the sentence of the server about why there is none. */
  waiting: string | null;
}

interface Kept {
  store: Store<Feed>;
  next: Feed;
  timer: number;
  users: number;
  cut: boolean;
}

const feeds = new Map<string, Kept>();
const wanted = new Store<readonly string[]>([]);

/** The queries that somebody in this tab looks at. */
export const wantedQueries = wanted;

function feedOf(name: string): Kept {
  let kept = feeds.get(name);
  if (!kept) {
    const next: Feed = { name, answers: [], marks: [], paused: false, failure: null, ended: null, waiting: null };
    kept = { store: new Store(next), next, timer: 0, users: 0, cut: false };
    feeds.set(name, kept);
  }
  return kept;
}

function change(kept: Kept, changed: Partial<Feed>): void {
  kept.next = { ...kept.next, ...changed };
  if (kept.timer) return;
  kept.timer = window.setTimeout(() => {
    kept.timer = 0;
    kept.store.set(kept.next);
  }, DRAWING);
}

/** An answer takes its place among the others; one that is there already is left as it is. */
function take(kept: Kept, told: Told): void {
  const { answers } = kept.next;
  const last = answers.at(-1);
  if (last === undefined || last.at < told.at) {
    const cut = kept.cut && last !== undefined ? [{ kind: "filled" as const, after: last.at, next: told.at }] : [];
    kept.cut = false;
    change(kept, {
      answers: [...answers, answerOf(told)].slice(-MOST_ANSWERS),
      marks: [...kept.next.marks.map((mark) => (mark.next ? mark : { ...mark, next: told.at })), ...cut].slice(-20),
      waiting: null,
    });
    return;
  }
  const place = answers.findIndex(({ at }) => at >= told.at);
  if (answers[place]?.at === told.at) return;
  change(kept, { answers: [...answers.slice(0, place), answerOf(told), ...answers.slice(place)].slice(-MOST_ANSWERS) });
}

function gap(kept: Kept, after: number, next: number, reason?: string): void {
  const { answers, marks } = kept.next;
  const kind = reason === "restored" || reason === "damaged" ? reason : "lost";
  change(kept, {
    marks: [...marks, { kind, after, next }],
    ...(kind === "restored" && { answers: answers.filter(({ at }) => at <= after) }),
  });
}

/** What an event of the server says, for whoever in this tab looks at its query. */
export function heard(kind: string, data: unknown): void {
  const told = data as Told & { reason?: string; after?: number; next?: number };
  const kept = told.query === undefined ? undefined : feeds.get(told.query);
  if (!kept) return;
  if (kind === "answer") take(kept, told);
  else if (kind === "gap") gap(kept, told.after ?? 0, told.next ?? 0, told.reason);
  else if (kind === "problem") change(kept, { failure: { at: told.at, reason: told.reason ?? "" } });
  else if (kind === "end") {
    change(kept, { ended: told.reason ?? "the query is deleted" });
    announce();
  }
  else if (kind === "paused" || kind === "resumed") change(kept, { paused: kind === "paused" });
}

/** The connection was cut: what comes next fills a hole. */
export function interrupted(): void {
  for (const kept of feeds.values()) if (kept.next.answers.length) kept.cut = true;
}

/** The newest answer, asked for once: a tab that comes later than the connection has it at once. */
async function prime(kept: Kept): Promise<void> {
  const { name } = kept.next;
  try {
    const response = await call("GET", `${queryPath(name)}/answers`, {
      accept: "application/sparql-results+json, application/n-triples;q=0.9",
    });
    if (response.status === 204) {
      change(kept, { waiting: response.headers.get("X-CSPARQL-Status") ?? "waiting for the first instant" });
      return;
    }
    const at = Number(response.headers.get("X-CSPARQL-Instant"));
    const graph = response.headers.get("Content-Type")?.startsWith("application/n-triples");
    take(kept, graph ? { at, triples: await response.text() } : { ...((await response.json()) as Told), at });
  } catch (error) {
    change(kept, { waiting: sentence(error) });
  }
}

/** Look at a query until the function that comes back is called. What was heard meanwhile stays for a while. */
export function follow(name: string): () => void {
  const kept = feedOf(name);
  if (kept.users++ === 0) {
    kept.cut = kept.next.answers.length > 0;
    if (kept.next.ended) change(kept, { ended: null, failure: null, paused: false, answers: [], marks: [] });
    void prime(kept);
    announce();
  }
  return () => {
    if (--kept.users === 0) announce();
  };
}

function announce(): void {
  const alive = [...feeds.values()].filter(({ users, next }) => users && !next.ended);
  wanted.set(alive.map(({ next }) => next.name).sort());
}

/** Forget what was heard of a query: it was deleted, and its name may stand for another one soon. */
export function forget(name: string): void {
  const kept = feeds.get(name);
  if (kept && !kept.users) feeds.delete(name);
}

export function useFeed(name: string): Feed {
  useEffect(() => follow(name), [name]);
  return useStore(feedOf(name).store);
}
