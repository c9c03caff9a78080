// A fold: what is known of a query by what was told of it, the newest answer whole, and how it became what it is.
//
//     let held = EMPTY;
//     const { held: next, missing } = folded(held, "change", told);
//     held.answer                                           // the newest one
//     held.steps                                            // all instants, oldest first, each with its change
//     answerAt(held, 3)                                     // that of an earlier one: later changes undone
//
// `missing` is the first instant of which the whole has to be asked for, since something was told that is since an instant
// that is not held. After a gap (`lost`) only a whole is taken; what it changes is found by comparing.
//
// Invariant: `answerAt` is the whole answer at each instant of `steps`, as the server would tell it.

import { answerOf, type Answer, type Row, type Told } from "./answer";
import { between, changeOf, done, Misfit, NOTHING, undone, type Change, type ToldChange } from "./change";
import type { Rows } from "./rows";

const MOST_STEPS = 600;
const MOST_CHANGED = 300_000; // rows, in all changes that are kept

export interface Step {
  at: number;
  /** What changed since the step before; null: that is not known. */
  change: Change | null;
}

export interface Held {
  answer: Answer | undefined;
  steps: readonly Step[];
  /** Whether changes may follow: nothing was lost since. */
  sound: boolean;
}

export interface Folded {
  held: Held;
  missing?: number;
}

export const EMPTY: Held = { answer: undefined, steps: [], sound: false };

/** What tells answers: a whole, a change, or that there was none. */
export type Kind = "keyframe" | "change" | "unchanged";

export function folded(held: Held, kind: Kind, told: Told | ToldChange): Folded {
  if (kind === "keyframe") return { held: began(held, answerOf(told as Told)) };
  const { answer } = held;
  if (answer && told.at <= answer.at) return { held };
  const { since } = told as ToldChange;
  if (!answer || !held.sound || since !== answer.at) return { held, missing: since };
  if (kind === "unchanged") return { held: stepped(held, { ...answer, at: told.at }, NOTHING) };
  try {
    const change = changeOf(answer, told as ToldChange);
    return { held: stepped(held, { ...answer, at: told.at, rows: done(answer.rows, change) }, change) };
  } catch (error) {
    if (!(error instanceof Misfit)) throw error;
    console.warn(error);
    return { held: EMPTY, missing: since };
  }
}

/** What a range tells: a whole first, changes since the one before, and of what is damaged that it is. */
export function foldedRange(held: Held, told: readonly (Told | ToldChange | { problem: string })[]): Folded {
  let now: Folded = { held };
  for (const one of told) {
    if ("problem" in one) now = { held: lost(now.held) };
    else now = folded(now.held, "since" in one ? "change" : "keyframe", one);
    if (now.missing !== undefined) break;
  }
  return now;
}

function began(held: Held, answer: Answer): Held {
  const before = held.answer;
  if (!before || !alike(before, answer)) return { answer, steps: [{ at: answer.at, change: null }], sound: true };
  return answer.at <= before.at ? { ...held, sound: true } : stepped(held, answer, between(before, answer));
}

const alike = (one: Answer, other: Answer): boolean =>
  one.kind === other.kind && one.listed === other.listed && one.columns.join() === other.columns.join() && one.variables.join() === other.variables.join();

const weight = ({ change }: Step): number => (change ? change.removed.length + change.added.length : 0);

function stepped({ steps }: Held, answer: Answer, change: Change): Held {
  const next = [...steps, { at: answer.at, change }];
  let first = Math.max(0, next.length - MOST_STEPS);
  let changed = next.reduce((sum, step) => sum + weight(step), 0);
  for (; changed > MOST_CHANGED && first < next.length - 1; first++) changed -= weight(next[first] as Step);
  return { answer, steps: next.slice(first), sound: true };
}

/** Something was not told. */
export const lost = (held: Held): Held => (held.sound ? { ...held, sound: false } : held);

/** What was told after an instant is not so any more. */
export function undoneTo(held: Held, at: number): Held {
  const last = held.steps.findLastIndex((step) => step.at <= at);
  const answer = answerAt(held, last);
  return answer ? { answer, steps: held.steps.slice(0, last + 1), sound: false } : EMPTY;
}

/** The answer at a step; undefined where that is not known. */
export function answerAt({ answer, steps }: Held, place: number): Answer | undefined {
  const step = steps[place];
  if (!answer || !step) return undefined;
  let rows: Rows<Row> = answer.rows;
  for (let later = steps.length - 1; later > place; later--) {
    const { change } = steps[later] as Step;
    if (!change) return undefined;
    rows = undone(rows, change);
  }
  return { ...answer, at: step.at, rows };
}
