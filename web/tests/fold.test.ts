// Folds against wholes: whoever is told changes, comes and goes, and loses some, has what was said at each instant.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Answer } from "../src/events/answer";
import { EMPTY, folded, foldedRange, lost, undoneTo } from "../src/events/fold";
import { marksOf, shelf } from "../src/events/marks";
import type { Term } from "../src/types";
import { each } from "./draw";
import { holds, spelled, teller, Teller } from "./teller";

test("whoever folds what is told has the whole at each instant", () => {
  each(120, (draw) => {
    const from = teller(draw), last = from.said.length;
    let held = EMPTY, told = 0;
    for (let at = 1; at <= last; at++) {
      if (!draw.below(4)) continue; // it is away
      if (!draw.below(6)) held = lost(held);
      const what = draw.below(5);
      if (what === 0 || !told) held = folded(held, "keyframe", from.keyframe(at)).held;
      else {
        const quiet = spelled(from.at(at) as never) === spelled(from.at(told) as never);
        const { held: next, missing } = quiet ? folded(held, "unchanged", { at, since: told }) : folded(held, "change", from.change(told, at));
        held = next;
        if (missing !== undefined) {
          assert.ok(!held.sound || held.answer?.at !== told);
          const asked = Array.from({ length: last - missing }, (_, number) => from.change(missing + number, missing + number + 1));
          held = foldedRange(held, [from.keyframe(missing), ...asked]).held;
        }
      }
      told = at;
      assert.ok(held.answer && held.answer.at >= at);
      holds(held, from);
    }
    if (!held.answer) return;
    const back = undoneTo(held, draw.below(last + 1));
    holds(back, from);
    assert.ok(!back.sound && back.answer?.at === back.steps.at(-1)?.at);
  });
});

test("what does not fit begins anew", () => {
  const from = new Teller(false, true, ["group"]);
  from.said.push([["a", "1", 5]], [["a", "2", 5]], [["b", "1", 5]]);
  const held = folded(EMPTY, "keyframe", from.keyframe(1)).held;
  const warned = console.warn;
  console.warn = () => {};
  const { held: next, missing } = folded(held, "change", { ...from.change(2, 3), since: 1 });
  console.warn = warned;
  assert.deepEqual([next, missing], [EMPTY, 1]);
});

test("what is lost is waited for until a whole comes, and what is known already changes nothing", () => {
  const from = new Teller(false, false, ["group"]);
  from.said.push([["a", "1", undefined]], [["a", "2", undefined]], [["a", "3", undefined]]);
  const held = lost(folded(EMPTY, "keyframe", from.keyframe(2)).held);
  assert.equal(folded(held, "change", from.change(2, 3)).missing, 2);
  assert.equal(folded(held, "unchanged", { at: 3, since: 2 }).missing, 2);
  const found = folded(held, "keyframe", from.keyframe(3)).held;
  assert.equal(folded(found, "change", from.change(2, 3)).held, found);
  assert.deepEqual(found.steps.map(({ at, change }) => [at, change?.added.length]), [[2, undefined], [3, 1]]);
  assert.equal(folded(found, "unchanged", { at: 4, since: 3 }).held.answer?.rows, found.answer?.rows);
});

test("of a grouped query a value that changes is one cell, and other rows are new or gone", () => {
  const from = new Teller(false, true, ["group"]);
  from.said.push([["a", "1", 5], ["b", "1", 5], ["c", "1", 5], ["d", "1", 5]], [["a", "1", 9], ["b", "2", 5], ["bb", "4", 5], ["d", "1", 5]]);
  const held = folded(folded(EMPTY, "keyframe", from.keyframe(1)).held, "change", from.change(1, 2)).held;
  const answer = held.answer as Answer;
  const { fresh, cells, gone } = marksOf(answer, held.steps[1]?.change as never);
  const name = (row: { terms: (Term | undefined)[] }): string => row.terms[1]?.value ?? "";
  assert.deepEqual([...cells].map(([row, columns]) => [name(row), columns]), [["b", [0]]]);
  assert.deepEqual([[...fresh].map(name), gone.map(({ row, place }) => [name(row), place])], [["bb"], [["c", 3]]]);
  const table = shelf(answer, gone).slice(0, 9);
  assert.deepEqual(table.map(({ row, place }) => [name(row), place]), [["a", 0], ["b", 1], ["bb", 2], ["c", undefined], ["d", 3]]);
});

test("of a graph a value that takes the place of the only other one is a cell", () => {
  const triples = (...of: string[]): string => of.map((text) => `<urn:${text[0]}> <urn:p> ${/\d/.test(text) ? `"${text.slice(1)}"` : `<urn:${text[1]}>`} .\n`).join("");
  const first = folded(EMPTY, "keyframe", { at: 1, triples: triples("a1", "b1", "b2", "cx", "d1") }).held;
  const { held } = folded(first, "change", { at: 2, since: 1, added: triples("a2", "b3", "cy", "d2", "d3"), removed: triples("a1", "b1", "cx", "d1") });
  const { fresh, cells, gone } = marksOf(held.answer as Answer, held.steps[1]?.change as never);
  const name = (row: { terms: (Term | undefined)[] }): string => `${row.terms[0]?.value.slice(4)}${row.terms[2]?.value.replace("urn:", "")}`;
  assert.deepEqual([...cells].map(([row, columns]) => [name(row), columns]), [["a2", [2]], ["b3", [2]]]);
  assert.deepEqual([[...fresh].map(name), gone.map(({ row }) => name(row))], [["cy", "d2", "d3"], ["cx", "d1"]]);
});

test("a shelf is its rows with those that went, from wherever it is looked at", () => {
  each(100, (draw) => {
    const from = teller(draw);
    let held = EMPTY;
    for (let at = 1; at <= from.said.length; at++) held = folded(held, "keyframe", from.keyframe(at)).held;
    const answer = held.answer as Answer, change = held.steps.at(-1)?.change;
    if (!change) return;
    const { gone } = marksOf(answer, change), table = shelf(answer, gone);
    const all = table.slice(0, table.length);
    assert.equal(all.length, answer.rows.length + gone.length);
    assert.deepEqual(all.flatMap(({ row, place }) => (place === undefined ? [] : [row])), [...answer.rows]);
    assert.deepEqual(all.flatMap(({ row, place }) => (place === undefined ? [row] : [])), gone.map(({ row }) => row));
    const [begin, end] = [draw.below(table.length + 1), draw.below(table.length + 5)];
    assert.deepEqual(table.slice(begin, end), all.slice(begin, end));
    all.forEach(({ place }, number) => place === undefined || assert.equal(table.shownAt(place), number));
  });
});
