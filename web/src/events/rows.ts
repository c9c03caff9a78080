// Rows in an order. They never change: what is made from them by a change shares with them all that is alike.
//
//     const rows = Rows.of(list);
//     rows.length, rows.at(3), rows.slice(100, 140)
//     rows.changed([2, 7], [{ place: 0, row: a }, { place: 5, row: b }])      // without those at 2 and 7, with a at 0 then
//     rows.search((row) => compared(row, wanted))                             // its place, or where it would be
//
// They lie in blocks of some hundred. A change copies the blocks that it touches and the list of blocks, so that it costs
// about as much in a hundred thousand rows as in a few; an answer of a while ago is kept for what has changed since.

const FULL = 256;

export interface Placed<T> {
  place: number;
  row: T;
}

export class Rows<T> implements Iterable<T> {
  readonly length: number;
  /** The place of the first row of each block. */
  private readonly starts: number[] = [];

  private constructor(private readonly blocks: readonly (readonly T[])[]) {
    let length = 0;
    for (const block of blocks) {
      this.starts.push(length);
      length += block.length;
    }
    this.length = length;
  }

  static of<T>(rows: readonly T[]): Rows<T> {
    return new Rows(cut(rows));
  }

  at(place: number): T | undefined {
    if (place < 0 || place >= this.length) return undefined;
    const block = this.blockOf(place);
    return this.blocks[block]?.[place - (this.starts[block] ?? 0)];
  }

  slice(from: number, to: number): T[] {
    const found: T[] = [];
    for (let block = this.blockOf(Math.max(0, from)); block < this.blocks.length; block++) {
      const start = this.starts[block] ?? 0;
      if (start >= to) break;
      found.push(...(this.blocks[block] ?? []).slice(Math.max(0, from - start), to - start));
    }
    return found;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const block of this.blocks) yield* block;
  }

  /** The first place whose row is not before what is sought: `compare` tells of a row whether it is (less than 0). The
   * rows have to be in that order. */
  search(compare: (row: T) => number): number {
    const before = (row: T | undefined): boolean => row !== undefined && compare(row) < 0;
    const block = partition(this.blocks.length, (place) => before(this.blocks[place]?.at(-1)));
    const rows = this.blocks[block];
    return rows ? (this.starts[block] ?? 0) + partition(rows.length, (place) => before(rows[place])) : this.length;
  }

  /** Without the rows at some places, and with others that have their places then. Both go up. */
  changed(removed: readonly number[], added: readonly Placed<T>[]): Rows<T> {
    if (!removed.length && !added.length) return this;
    const gaps = gapsOf(removed, added);
    const blocks: (readonly T[])[] = [];
    const put = (rows: readonly T[]): void => {
      if (!rows.length) return;
      const last = blocks.at(-1);
      if (last && last.length + rows.length <= FULL) blocks[blocks.length - 1] = [...last, ...rows];
      else if (rows.length > 2 * FULL) blocks.push(...cut(rows));
      else blocks.push(rows);
    };
    let gone = 0, come = 0;
    this.blocks.forEach((rows, block) => {
      const start = this.starts[block] ?? 0, end = start + rows.length;
      if ((removed[gone] ?? end) >= end && (gaps[come] ?? end) >= end) return put(rows);
      const now: T[] = [];
      rows.forEach((row, place) => {
        for (; gaps[come] === start + place; come++) now.push((added[come] as Placed<T>).row);
        if (removed[gone] === start + place) gone++;
        else now.push(row);
      });
      put(now);
    });
    put(added.slice(come).map(({ row }) => row));
    return new Rows(blocks);
  }

  private blockOf(place: number): number {
    return partition(this.starts.length, (block) => (this.starts[block] ?? 0) <= place) - 1;
  }
}

/** For each row that is added, the place before which it comes among the rows of before. */
export function gapsOf(removed: readonly number[], added: readonly Placed<unknown>[]): number[] {
  let gone = 0;
  return added.map(({ place }, number) => {
    const staying = place - number; // so many of the rows that stay are before it
    while (gone < removed.length && (removed[gone] as number) <= staying + gone) gone++;
    return staying + gone;
  });
}

function cut<T>(rows: readonly T[]): (readonly T[])[] {
  const blocks: (readonly T[])[] = [];
  for (let start = 0; start < rows.length; start += FULL) blocks.push(rows.slice(start, start + FULL));
  return blocks;
}

/** How many of the numbers from 0 on are so, if after one that is not none is. */
function partition(length: number, so: (number: number) => boolean): number {
  let low = 0, high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (so(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
