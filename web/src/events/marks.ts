// Marks: what is to be shown of a change, as somebody would say it: this value is another one, this row is new, this one went.
//
//     const { fresh, cells, gone } = marksOf(answer, change);
//     cells.get(row)                                        // the columns of the row whose values have changed
//
// A row that came and one that went are the same row with other values, if the columns that tell rows apart are equal; and of
// a graph, if one value of a property of a subject came, and one went.

import { whole } from "../terms";
import type { Term } from "../types";
import { compared, groupOf, type Answer, type Row } from "./answer";
import type { Change } from "./change";
import type { Placed } from "./rows";

export interface Marks {
  fresh: ReadonlySet<Row>;
  cells: ReadonlyMap<Row, readonly number[]>;
  /** With the place of the row that follows them now. */
  gone: readonly Placed<Row>[];
}

export const UNMARKED: Marks = { fresh: new Set(), cells: new Map(), gone: [] };

export function marksOf(answer: Answer, { removed, added }: Change): Marks {
  const before = numbered(answer, removed), now = answer.kind === "graph" ? numbered(answer, added) : undefined;
  const fresh = new Set<Row>(), cells = new Map<Row, readonly number[]>(), stayed = new Set<number>();
  const was = added.map(({ row }) => {
    const group = nameOf(row, answer), there = before.get(group);
    const number = now && ((there?.length ?? 0) > 1 || (now.get(group)?.length ?? 0) > 1) ? undefined : there?.shift();
    if (number === undefined) fresh.add(row);
    else {
      stayed.add(number);
      const columns = otherwise((removed[number] as Placed<Row>).row, row);
      if (columns.length) cells.set(row, columns);
    }
    return number;
  });
  let come = 0;
  const gone = removed.flatMap(({ place, row }, number): Placed<Row>[] => {
    const staying = place - number; // so many of the rows that are there still are before it
    for (; come < added.length; come++) {
      const other = added[come] as Placed<Row>, rest = other.place - come;
      const behind = answer.listed ? (was[come] ?? Infinity) > number : compared(other.row, row) > 0;
      if (rest > staying || (rest === staying && behind)) break;
    }
    return stayed.has(number) ? [] : [{ place: staying + come, row }];
  });
  return { fresh, cells, gone };
}

/** Which rows of a change have the same name. */
function numbered(answer: Answer, rows: readonly Placed<Row>[]): Map<string, number[]> {
  const found = new Map<string, number[]>();
  rows.forEach(({ row }, number) => {
    const name = nameOf(row, answer), there = found.get(name);
    if (there) there.push(number);
    else found.set(name, [number]);
  });
  return found;
}

/** By what a row is known when its values are others. */
function nameOf(row: Row, answer: Answer): string {
  const [subject, property, object] = row.terms;
  if (answer.kind !== "graph" || object?.type !== "literal" || !subject || !property) return groupOf(row, answer);
  return `${whole(subject)} ${whole(property)}`;
}

const otherwise = (was: Row, row: Row): number[] =>
  row.terms.map((_, column) => column).filter((column) => !same(was.terms[column], row.terms[column]));

const same = (one: Term | undefined, other: Term | undefined): boolean =>
  one === other || (one !== undefined && other !== undefined && whole(one) === whole(other));

/** Rows and, where they were, those that went: what a table shows. */
export interface Shelf {
  length: number;
  /** The rows from one place to another; `place` is that among the rows that are there, undefined of one that went. */
  slice: (from: number, to: number) => { row: Row; place: number | undefined }[];
  /** Where the row is shown that has a place among those that are there. */
  shownAt: (place: number) => number;
}

export function shelf({ rows }: Answer, gone: readonly Placed<Row>[]): Shelf {
  const goneBefore = (so: (place: number, number: number) => boolean): number => {
    let low = 0, high = gone.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (so((gone[middle] as Placed<Row>).place, middle)) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return {
    length: rows.length + gone.length,
    slice: (from, to) => {
      let next = goneBefore((place, number) => place + number < from);
      const found: { row: Row; place: number | undefined }[] = [];
      const there = rows.slice(from - next, to - next);
      for (let shown = from, taken = 0; shown < to; shown++) {
        const went = gone[next];
        if (went && went.place + next === shown) {
          found.push({ row: went.row, place: undefined });
          next++;
        } else {
          const row = there[taken];
          if (!row) break;
          found.push({ row, place: shown - next });
          taken++;
        }
      }
      return found;
    },
    shownAt: (place) => place + goneBefore((before) => before <= place),
  };
}
