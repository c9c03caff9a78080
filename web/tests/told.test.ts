// What the server told (../tests/web/test_modules.py writes it), folded, against its wholes: a file named by TOLD.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { answerOf, type Answer, type Told } from "../src/events/answer";
import type { ToldChange } from "../src/events/change";
import { answerAt, EMPTY, folded, foldedRange } from "../src/events/fold";

const { TOLD } = process.env;
const histories = TOLD ? (JSON.parse(readFileSync(TOLD, "utf8")) as { changes: (Told | ToldChange)[]; wholes: Told[] }[]) : [];

const shown = ({ at, kind, listed, rows }: Answer): unknown => ({ at, kind, listed, rows: [...rows].map(({ key, until }) => [key, until]) });

for (const [number, { changes, wholes }] of histories.entries())
  test(`history ${number}`, () => {
    const { held, missing } = foldedRange(EMPTY, changes);
    assert.equal(missing, undefined);
    assert.deepEqual(held.steps.map((_, place) => shown(answerAt(held, place) as Answer)), wholes.map((whole) => shown(answerOf(whole))));
    // What comes again changes nothing, and a whole in the place of a change is taken as one.
    for (const one of changes.slice(1)) assert.equal(folded(held, "change", one).held, held);
    const again = wholes.reduce((before, whole) => folded(before, "keyframe", whole).held, EMPTY);
    assert.deepEqual(again.steps.map((_, place) => shown(answerAt(again, place) as Answer)), wholes.map((whole) => shown(answerOf(whole))));
  });
