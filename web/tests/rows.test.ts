// Rows against arrays.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Rows, type Placed } from "../src/events/rows";
import { each, type Draw } from "./draw";

/** What it is, made anew: those that go are left out, those that come are put at their places from the first on. */
function naively(rows: readonly number[], removed: readonly number[], added: readonly Placed<number>[]): number[] {
  const now = rows.filter((_, place) => !removed.includes(place));
  for (const { place, row } of added) now.splice(place, 0, row);
  return now;
}

const some = (draw: Draw, below: number, most: number): number[] =>
  [...new Set(draw.list(Math.min(most, below), () => draw.below(below)))].sort((a, b) => a - b);

test("changed rows are those of an array that is changed", () => {
  each(60, (draw) => {
    let list = draw.list(draw.of([3, 700, 2000]), () => draw.below(100)), rows = Rows.of(list);
    for (let turn = 0; turn < 12; turn++) {
      const removed = some(draw, list.length, draw.of([2, 40, 3000]));
      const length = list.length - removed.length, many = draw.below(draw.of([3, 60, 900]));
      const added = some(draw, length + many, many).map((place, number) => ({ place: Math.min(place, length + number), row: 1000 + turn }));
      const before = rows;
      rows = rows.changed(removed, added);
      assert.deepEqual([...before], list);
      const undone = rows.changed(added.map(({ place }) => place), removed.map((place) => ({ place, row: list[place] as number })));
      assert.deepEqual([...undone], list);
      list = naively(list, removed, added);
      assert.deepEqual([...rows], list);
      assert.equal(rows.length, list.length);
      const [from, to] = [draw.below(list.length + 1), draw.below(list.length + 300)];
      assert.deepEqual(rows.slice(from, to), list.slice(from, to));
      const place = draw.below(list.length + 3);
      assert.equal(rows.at(place), list[place]);
    }
  });
});

test("a row is searched where it is, or would be", () => {
  each(60, (draw) => {
    const list = draw.list(1500, () => draw.below(400)).sort((a, b) => a - b), sought = draw.below(420) - 5;
    assert.equal(Rows.of(list).search((row) => row - sought), list.filter((row) => row < sought).length);
  });
});

test("what a change does not touch is shared", () => {
  const rows = Rows.of(Array.from({ length: 100_000 }, (_, number) => number));
  const blocks = (of: Rows<number>): readonly unknown[] => (of as unknown as { blocks: readonly unknown[] }).blocks;
  const there = new Set(blocks(rows));
  const now = blocks(rows.changed([5, 50_000], [{ place: 70_000, row: -1 }]));
  assert.ok(now.length > 300 && now.filter((block) => !there.has(block)).length <= 3);
});
