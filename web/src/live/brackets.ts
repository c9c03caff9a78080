// Where windows are drawn: brackets in rows, so that none lies over another.
//
//     const { placed, left } = stacked(brackets, 7);        // placed[0].row; left: how many found no row
//
// The window that is looked at and the next one come first, so they always have a place, and always the same one.

import type { Bounds, Timeline } from "./told";

export type BracketKind = "looked" | "next" | "past";

export interface Bracket {
  at: number;
  opens: number;
  closes: number;
  kind: BracketKind;
  name: string | undefined;
}

export interface Placed extends Bracket {
  row: number;
}

const RANK: Record<BracketKind, number> = { looked: 0, next: 1, past: 2 };

export function stacked(brackets: readonly Bracket[], most: number): { placed: Placed[]; left: number } {
  const rows: Bracket[][] = [];
  const placed: Placed[] = [];
  const order = [...brackets].sort((a, b) => RANK[a.kind] - RANK[b.kind] || b.closes - a.closes);
  for (const bracket of order) {
    const free = rows.findIndex((row) => row.every(({ opens, closes }) => bracket.opens >= closes || bracket.closes <= opens));
    const row = free < 0 ? rows.length : free;
    if (row >= most) continue;
    (rows[row] ??= []).push(bracket);
    placed.push({ ...bracket, row });
  }
  return { placed, left: brackets.length - placed.length };
}

const bracketOf = (bounds: Bounds, at: number, kind: BracketKind): Bracket => ({
  at, kind, name: bounds.name, opens: bounds.opens ?? -Infinity, closes: bounds.closes ?? at,
});

/** The windows of a timeline over a stream, each once. */
export function bracketsOf(told: Timeline, stream: string, looked: number | undefined): Bracket[] {
  const over = (windows: readonly Bounds[]): Bounds[] => windows.filter((bounds) => bounds.stream === stream);
  const found = [
    ...told.instants.flatMap(({ at, windows }) => over(windows).map((bounds) => bracketOf(bounds, at, at === looked ? "looked" : "past"))),
    ...over(told.next?.windows ?? []).map((bounds) => bracketOf(bounds, told.next?.at ?? 0, "next")),
  ];
  // Windows that step more slowly than the query answers are the same at several instants.
  const seen = new Map<string, Bracket>();
  for (const bracket of found) {
    const key = `${bracket.opens} ${bracket.closes} ${bracket.name}`;
    const there = seen.get(key);
    if (!there || RANK[bracket.kind] <= RANK[there.kind]) seen.set(key, bracket);
  }
  return [...seen.values()];
}
