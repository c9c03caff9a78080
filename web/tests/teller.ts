// A teller: a query that says rows, and tells them as the server does, as plainly as can be.
//
//     const from = teller(draw);                            // with what it says at the instants 1, 2, …
//     from.keyframe(3), from.change(2, 3)                   // what an event at 3 holds
//     holds(held, from)                                     // each instant that is held is what was said

import assert from "node:assert/strict";
import { answerOf, type Answer, type Told, type Until } from "../src/events/answer";
import type { ToldChange } from "../src/events/change";
import { answerAt, type Held } from "../src/events/fold";
import type { Term } from "../src/types";
import type { Draw } from "./draw";

export type Said = [group: string, value: string, until: Until][];

const literal = (value: string): Term => ({ type: "literal", value });
const binding = ([group, value]: Said[number]): Record<string, Term> => ({ value: literal(value), ...(group && { group: literal(group) }) });
export const spelled = (row: Said[number]): string => JSON.stringify(row);

/** `listed` in an order of its own, `timed` with until when they hold. */
export class Teller {
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

export function teller(draw: Draw): Teller {
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

export function holds(held: Held, from: Teller): void {
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
