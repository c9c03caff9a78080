// A change: what came and what went from one answer to the next, by the places of rows.
//
//     const change = changeOf(before, told);                // told: `added`, `removed`, `until` of an event
//     const now = done(before.rows, change);
//     undone(now, change)                                   // the rows of before
//     between(before, now)                                  // the change from one whole to another
//
// A row that holds till another time has gone and come. Places are of an answer's own order (see `answer`), so that a
// change is done and undone without looking for rows; to know them costs a search for each row that changes.

import { bindingRows, compared, inOrder, tripleRows, truthOf, type Answer, type Bindings, type Row, type Until } from "./answer";
import { gapsOf, Rows, type Placed } from "./rows";

export interface Change {
  /** With their places before. */
  removed: readonly Placed<Row>[];
  /** With their places now. */
  added: readonly Placed<Row>[];
}

export const NOTHING: Change = { removed: [], added: [] };

interface ToldRows {
  bindings: Bindings;
  until?: Until[];
  was?: Until[];
  places?: number[];
}

/** What an event `change` holds, and each of a range but the first. */
export interface ToldChange {
  at: number;
  since: number;
  query?: string;
  version?: number;
  added?: ToldRows | string;
  removed?: ToldRows | string;
  until?: ToldRows | Until[];
  boolean?: boolean;
}

/** What is told does not fit the answer that it is to change. */
export class Misfit extends Error {}

const placesOf = (placed: readonly Placed<Row>[]): number[] => placed.map(({ place }) => place);

export const done = (rows: Rows<Row>, { removed, added }: Change): Rows<Row> => rows.changed(placesOf(removed), added);
export const undone = (rows: Rows<Row>, { removed, added }: Change): Rows<Row> => rows.changed(placesOf(added), removed);

/** Raises `Misfit`. */
export function changeOf(before: Answer, told: ToldChange): Change {
  if (before.kind === "truth") return ofTruth(before, told);
  if (typeof told.added === "string") return ofBag(before, tripleRows(String(told.removed ?? "")), tripleRows(told.added));
  const [added, removed, stayed] = [told.added, told.removed, told.until] as (ToldRows | undefined)[];
  if (!added || !removed || !stayed || before.kind !== "table") throw new Misfit("it tells no rows");
  const rows = ({ bindings, until }: ToldRows): Row[] => bindingRows(bindings, until, before);
  const [come, gone, staying] = [rows(added), rows(removed), rows(stayed)];
  if (added.places && removed.places) return ofList(before, placed(removed.places, gone), placed(added.places, come), placed(stayed.places ?? [], staying));
  const were = staying.map((row, place) => ({ ...row, until: stayed.was?.[place] }));
  return ofBag(before, [...gone, ...were], [...come, ...staying]);
}

function ofTruth({ at, rows }: Answer, { boolean, until }: ToldChange): Change {
  if (boolean === undefined) return NOTHING;
  const now = truthOf(at, boolean, Array.isArray(until) ? until : undefined);
  return { removed: all(rows), added: all(now.rows) };
}

const all = (rows: Rows<Row>): Placed<Row>[] => [...rows].map((row, place) => ({ place, row }));

const placed = (places: readonly number[], rows: readonly Row[]): Placed<Row>[] =>
  rows.map((row, number) => ({ place: places[number] ?? -1, row }));

function ofBag({ rows }: Answer, gone: Row[], come: Row[]): Change {
  let place = -1;
  const removed = inOrder(gone).map((row): Placed<Row> => {
    place = Math.max(place + 1, rows.search((other) => compared(other, row)));
    const there = rows.at(place);
    if (!there || compared(there, row) !== 0) throw new Misfit(`there is no row ${row.key} to go`);
    return { place, row: there };
  });
  let left = 0;
  const added = inOrder(come).map((row, number): Placed<Row> => {
    const gap = rows.search((other) => compared(other, row));
    while (left < removed.length && (removed[left] as Placed<Row>).place < gap) left++;
    return { place: gap - left + number, row };
  });
  return { removed, added };
}

/** Rows of a list that stay, and hold till another time, have the places that they have now. */
function ofList({ rows }: Answer, gone: Placed<Row>[], come: Placed<Row>[], stayed: Placed<Row>[]): Change {
  const taken = ({ place, row }: Placed<Row>): Placed<Row> => {
    const there = rows.at(place);
    if (there?.key !== row.key) throw new Misfit(`at place ${place} there is no row ${row.key}`);
    return { place, row: there };
  };
  let before = 0;
  const staying = stayed.map(({ place, row }): Placed<Row> => {
    while (before < come.length && (come[before] as Placed<Row>).place < place) before++;
    return { place: place - before, row };
  });
  const gaps = gapsOf(placesOf(gone), staying.map(({ place, row }, number) => ({ place: place + number, row })));
  const were = staying.map(({ row }, number) => ({ place: gaps[number] as number, row }));
  return { removed: merged([...gone, ...were].map(taken)), added: merged([...come, ...stayed]) };
}

const merged = (rows: Placed<Row>[]): Placed<Row>[] => rows.sort((one, other) => one.place - other.place);

/** What has changed from one whole to another one of the same query. */
export function between(before: Answer, now: Answer): Change {
  return before.listed || now.listed ? ofWholeLists([...before.rows], [...now.rows]) : ofWholeBags([...before.rows], [...now.rows]);
}

function ofWholeBags(before: readonly Row[], now: readonly Row[]): Change {
  const removed: Placed<Row>[] = [], added: Placed<Row>[] = [];
  let there = 0, here = 0;
  while (there < before.length || here < now.length) {
    const [was, is] = [before[there], now[here]];
    const order = !was ? 1 : !is ? -1 : compared(was, is);
    if (was && order < 0) removed.push({ place: there, row: was });
    if (is && order > 0) added.push({ place: here, row: is });
    if (order <= 0) there++;
    if (order >= 0) here++;
  }
  return { removed, added };
}

/** What stands between the rows with which both begin and those with which both end. */
function ofWholeLists(before: readonly Row[], now: readonly Row[]): Change {
  const same = (one: Row | undefined, other: Row | undefined): boolean => one !== undefined && other !== undefined && compared(one, other) === 0;
  const most = Math.min(before.length, now.length);
  let first = 0, last = 0;
  while (first < most && same(before[first], now[first])) first++;
  while (last < most - first && same(before[before.length - 1 - last], now[now.length - 1 - last])) last++;
  const part = (rows: readonly Row[]): Placed<Row>[] => rows.slice(first, rows.length - last).map((row, place) => ({ place: first + place, row }));
  return { removed: part(before), added: part(now) };
}
