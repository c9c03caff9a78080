// Folds against wholes: whoever is told changes, comes and goes, and loses some, has what was said at each instant.

import assert from "node:assert/strict";
import { test } from "node:test";
import { answerOf, type Answer, type Told, type Until } from "../src/events/answer";
import type { ToldChange } from "../src/events/change";
import { answerAt, EMPTY, folded, foldedRange, lost, undoneTo, type Held } from "../src/events/fold";
import { marksOf, shelf } from "../src/events/marks";
import type { Term } from "../src/types";
import { each, type Draw } from "./draw";

type Said = [group: string, value: string, until: Until][];

const literal = (value: string): Term => ({ type: "literal", value });
const binding = ([group, value]: Said[number]): Record<string, Term> => ({ value: literal(value), ...(group && { group: literal(group) }) });
const spelled = (row: Said[number]): string => JSON.stringify(row);

/** A query that says rows: `listed` in an order of its own, `timed` with until when they hold. */
class Teller {
  readonly said: Said[] = [];
  constructor(readonly listed: boolean, readonly timed: boolean, readonly key: string[]) {}

  at = (instant: number): Said => this.said[instant - 1] as Said;

  keyframe(at: number): Told {
    const rows = this.at(at);
    return {
      at, key: this.key, listed: this.listed, until: this.timed ? rows.map(([, , until]) => until) : undefined,
      results: { head: { vars: ["value", "group"] }, results: { bindings: rows.map(binding) } },
    };
  }

  /** By removing rows one by one; of a list all rows but the first ones that stay have gone and come. */
  change(since: number, at: number): ToldChange {
    const before = this.at(since), now = this.at(at);
    let same = 0;
    const alike = (one: Said[number] | undefined, other: Said[number] | undefined): boolean => one?.[0] === other?.[0] && one?.[1] === other?.[1];
    if (this.listed) while (same < Math.min(before.length, now.length) && alike(before[same], now[same])) same++;
    const gone = this.listed ? before.slice(same) : [...before], come: Said = [], stayed: Said = [], was: Until[] = [];
    for (const row of this.listed ? now.slice(same) : now) {
      const exactly = this.listed ? -1 : gone.findIndex((other) => spelled(other) === spelled(row));
      if (exactly >= 0) gone.splice(exactly, 1);
      else come.push(row);
    }
    const places: number[] = [];
    if (this.listed) for (let place = 0; place < same; place++) {
      const [row, other] = [now[place], before[place]] as [Said[number], Said[number]];
      if (row[2] !== other[2]) [stayed, was, places].forEach((list, number) => (list as unknown[]).push([row, other[2], place][number]));
    } else for (const row of [...come]) {
      const other = gone.findIndex((one) => alike(one, row));
      if (other < 0) continue;
      stayed.push(row);
      was.push(gone.splice(other, 1)[0]?.[2]);
      come.splice(come.indexOf(row), 1);
    }
    const rows = (of: Said, first: number): object => ({
      bindings: of.map(binding), ...(this.timed && { until: of.map(([, , until]) => until) }), ...(this.listed && { places: of.map((_, place) => first + place) }),
    });
    return {
      at, since, added: rows(come, same), removed: rows(gone, same), until: { ...rows(stayed, 0), ...(this.timed && { was }), ...(this.listed && { places }) },
    } as ToldChange;
  }
}

function teller(draw: Draw): Teller {
  const made = new Teller(draw.below(3) === 0, draw.below(3) > 0, draw.of([["group"], ["value", "group"], []]));
  const until = (): Until => (made.timed ? draw.of([5, 7, 9, null]) : undefined);
  const size = draw.of([4, 12, 400]);
  let rows: Said = [];
  for (let instant = draw.below(12) + 1; instant > 0; instant--) {
    const left = rows.filter(() => draw.below(4)).map((row): Said[number] => [row[0], row[1], draw.below(3) ? row[2] : until()]);
    const come = draw.list(Math.max(1, size / 2), (): Said[number] => [draw.of(["a", "b", "", "c\u0007", "é"]), `${draw.below(size)}`, until()]);
    rows = draw.below(5) ? [...left, ...come].slice(0, size) : rows;
    made.said.push(made.listed ? [...rows] : draw.mixed(rows));
  }
  return made;
}

const shown = (answer: Answer): string[] => [...answer.rows].map(({ terms, until }) => spelled([terms[1]?.value ?? "", terms[0]?.value ?? "", until]));

function holds(held: Held, from: Teller): void {
  held.steps.forEach((step, place) => {
    const answer = answerAt(held, place);
    if (!answer) return assert.ok(held.steps.slice(place + 1).some(({ change }) => !change));
    assert.equal(answer.at, step.at);
    const now = shown(answer), said = from.at(step.at).map(spelled);
    if (from.listed) assert.deepEqual(now, said);
    else assert.deepEqual([...now].sort(), said.sort());
    assert.deepEqual(now, shown(answerOf(from.keyframe(step.at)))); // and in the same order
  });
}

test("whoever folds what is told has the whole at each instant", () => {
  each(300, (draw) => {
    const from = teller(draw), last = from.said.length;
    let held = EMPTY, told = 0;
    for (let at = 1; at <= last; at++) {
      if (!draw.below(4)) continue; // it is away
      if (!draw.below(6)) held = lost(held);
      const what = draw.below(5);
      if (what === 0 || !told) held = folded(held, "keyframe", from.keyframe(at)).held;
      else {
        const quiet = spelled(from.at(at) as never) === spelled(from.at(told) as never);
        const { held: next, missing } = quiet && told === at - 1 ? folded(held, "unchanged", { at }) : folded(held, "change", from.change(told, at));
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
  assert.equal(folded(held, "unchanged", { at: 3 }).missing, 3);
  const found = folded(held, "keyframe", from.keyframe(3)).held;
  assert.equal(folded(found, "change", from.change(2, 3)).held, found);
  assert.deepEqual(found.steps.map(({ at, change }) => [at, change?.added.length]), [[2, undefined], [3, 1]]);
  assert.equal(folded(found, "unchanged", { at: 4 }).held.answer?.rows, found.answer?.rows);
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
