// A feed: what this tab knows of one query's answers, and where something is missing.
//
//     const feed = useFeed("HotRooms");          // in a component: subscribed while it is shown
//     feed.held.answer?.rows
//
// What is told is folded (see `fold`). Where something is told that is since an instant that is not held, the whole of that
// instant is asked for, with all changes after it; what is told meanwhile waits. Where the query is replaced, what was held
// of the version before goes, and what that one still says is not heard. Components are told ten times a second at most,
// however fast answers come.

import { useEffect } from "preact/hooks";
import { sentence } from "../api";
import { Store, useStore } from "../store";
import type { Told } from "./answer";
import type { ToldChange } from "./change";
import { EMPTY, folded, foldedRange, lost, undoneTo, type Held, type Kind } from "./fold";
import { newest, range } from "./range";

const DRAWING = 100;
const MOST_WAITING = 1000;

export interface Mark {
  /** `lost`: these answers are kept no longer. `skipped`: they were not told, and can still be had. `filled`: the connection was gone, and nothing is missing. `restored`: a
   * copy of the database was put back, and what was told after it was taken is not so any more. `damaged`: an answer
   * cannot be read any more. */
  kind: "lost" | "skipped" | "filled" | "restored" | "damaged";
  after: number;
  /** 0: nothing was told since. */
  next: number;
}

export interface Feed {
  name: string;
  /** Of the query, whose answers are held; undefined: none is. */
  version: number | undefined;
  held: Held;
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
  /** What waits until what was asked for is there; null: nothing was. */
  queue: (() => void)[] | null;
  /** The instant that was asked for last, since it was missing. */
  sought: number | undefined;
  /** A copy of the database was put back: the version that there is may be an earlier one. */
  restored: boolean;
}

const feeds = new Map<string, Kept>();
const wanted = new Store<readonly string[]>([]);

/** The queries that somebody in this tab looks at. */
export const wantedQueries = wanted;

function feedOf(name: string): Kept {
  let kept = feeds.get(name);
  if (!kept) {
    const next: Feed = { name, version: undefined, held: EMPTY, marks: [], paused: false, failure: null, ended: null, waiting: null };
    kept = { store: new Store(next), next, timer: 0, users: 0, cut: false, queue: null, sought: undefined, restored: false };
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

/** What is held from now on, with the marks of what it goes on after. */
function hold(kept: Kept, held: Held): void {
  const { held: before, marks } = kept.next;
  const last = before.answer?.at, at = held.answer?.at;
  if (at === undefined || at === last) return change(kept, { held });
  const next = held.steps.find((step) => last === undefined || step.at > last)?.at ?? at;
  const filled = kept.cut && last !== undefined ? [{ kind: "filled" as const, after: last, next }] : [];
  kept.cut = false;
  change(kept, { held, marks: [...marks.map((mark) => (mark.next ? mark : { ...mark, next })), ...filled].slice(-20), waiting: null });
}

/** Whether something is of the version that is held; of a later one everything begins again. */
function isOf(kept: Kept, version: number | undefined): boolean {
  const known = kept.next.version;
  if (version === undefined || version === known) return true;
  if (known !== undefined && version < known && !kept.restored) return false;
  kept.restored = false;
  if (known !== undefined) {
    kept.sought = undefined;
    kept.cut = false;
    change(kept, { held: EMPTY, marks: [], paused: false, failure: null, waiting: null });
  }
  change(kept, { version });
  return true;
}

function take(kept: Kept, kind: Kind, told: Told | ToldChange): void {
  if (!isOf(kept, told.version)) return;
  const { held, missing } = folded(kept.next.held, kind, told);
  hold(kept, held);
  if (missing === undefined || missing === kept.sought) return;
  kept.sought = missing;
  void ask(kept, async () => {
    const found = await range(kept.next.name, missing, undefined, undefined, told.version);
    return () => void (isOf(kept, told.version) && hold(kept, foldedRange(kept.next.held, found).held));
  });
}

/** Ask for something; what is told meanwhile is taken after it. */
async function ask(kept: Kept, load: () => Promise<() => void>): Promise<void> {
  const waiting = kept.queue ?? [];
  kept.queue = waiting;
  let taken = (): void => {};
  try {
    taken = await load();
  } catch (error) {
    if (!kept.next.held.answer) change(kept, { waiting: sentence(error) });
  }
  if (kept.queue !== waiting) return; // another one that was waited for was there before
  kept.queue = null;
  taken();
  for (const told of waiting) inTurn(kept, told);
}

function inTurn(kept: Kept, told: () => void): void {
  if (!kept.queue) told();
  else if (kept.queue.length < MOST_WAITING) kept.queue.push(told);
}

const SKIPPED = ["slow", "large"];

function gap(kept: Kept, after: number, next: number, reason = ""): void {
  const kind = reason === "restored" || reason === "damaged" ? reason : SKIPPED.includes(reason) ? "skipped" : "lost";
  const { held, marks } = kept.next;
  kept.cut = false; // something is missing, and it is told what
  kept.restored ||= kind === "restored";
  change(kept, { marks: [...marks, { kind, after, next } as const].slice(-20), held: kind === "restored" ? undoneTo(held, after) : lost(held) });
}

/** What an event of the server says, for whoever in this tab looks at its query. */
export function heard(kind: string, data: unknown): void {
  const told = data as Told & { reason?: string; after?: number; next?: number };
  const kept = told.query === undefined ? undefined : feeds.get(told.query);
  if (!kept) return;
  if (kind === "keyframe" || kind === "change" || kind === "unchanged") inTurn(kept, () => take(kept, kind, told));
  else if (kind === "replaced") inTurn(kept, () => void isOf(kept, told.version));
  else if (kind === "gap") inTurn(kept, () => gap(kept, told.after ?? 0, told.next ?? 0, told.reason));
  else if (kind === "problem") change(kept, { failure: { at: told.at, reason: told.reason ?? "" } });
  else if (kind === "end") {
    change(kept, { ended: told.reason ?? "the query is deleted" });
    announce();
  }
  else if (kind === "paused" || kind === "resumed") change(kept, { paused: kind === "paused" });
}

export const listensTo = (name: string): boolean => feeds.has(name);

/** The connection was cut: what comes next fills a hole. */
export function interrupted(): void {
  for (const kept of feeds.values()) if (kept.next.held.answer) kept.cut = true;
}

/** The newest answer, asked for once: a tab that comes later than the connection has it at once. */
function prime(kept: Kept): void {
  kept.sought = undefined;
  void ask(kept, async () => {
    const told = await newest(kept.next.name);
    return () => (typeof told === "string" ? change(kept, { waiting: told }) : take(kept, "since" in told ? "change" : "keyframe", told));
  });
}

/** Hold all instants from this one on, if the server has them still. */
export function reachBack(name: string, from: number): void {
  const kept = feedOf(name);
  inTurn(kept, () => void ask(kept, async () => {
    const { version } = kept.next;
    const found = await range(name, from, undefined, undefined, version);
    return () => {
      if (!isOf(kept, version)) return;
      const { answer } = kept.next.held, { held } = foldedRange(EMPTY, found);
      if (held.answer && (!answer || held.answer.at >= answer.at)) hold(kept, held);
    };
  }));
}

/** Look at a query until the function that comes back is called. What was heard meanwhile stays for a while. */
export function follow(name: string): () => void {
  const kept = feedOf(name);
  if (kept.users++ === 0) {
    kept.cut = kept.next.held.answer !== undefined;
    if (kept.next.ended) change(kept, { version: undefined, ended: null, failure: null, paused: false, held: EMPTY, marks: [] });
    prime(kept);
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

export const feedStore = (name: string): Store<Feed> => feedOf(name).store;

export function useFeed(name: string): Feed {
  useEffect(() => follow(name), [name]);
  return useStore(feedStore(name));
}
