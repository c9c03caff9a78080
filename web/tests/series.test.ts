// Lines that take what has changed against lines that are made from all answers.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Told } from "../src/events/answer";
import { EMPTY, folded, foldedRange, type Held } from "../src/events/fold";
import { Charting, MOST_LINES, type Charted } from "../src/live/series";
import type { Term } from "../src/types";
import { each, type Draw } from "./draw";

const XSD = "http://www.w3.org/2001/XMLSchema#";
const VARS = ["room", "floor", "celsius", "seen"];

/** A room, its floor (a whole number, or none), a number that may have a fraction, and a time. */
type Row = [room: string | null, floor: number | null, celsius: number | null];

const literal = (value: unknown, datatype: string): Term => ({ type: "literal", value: String(value), datatype: XSD + datatype });
const binding = ([room, floor, celsius]: Row): Record<string, Term> => ({
  ...(room !== null && { room: { type: "literal", value: room } }), ...(floor !== null && { floor: literal(floor, "integer") }),
  ...(celsius !== null && { celsius: literal(celsius, "decimal") }), seen: literal("2026-01-01T00:00:00Z", "dateTime"),
});
const told = (at: number, rows: readonly Row[]): Told => ({ at, key: VARS, results: { head: { vars: VARS }, results: { bindings: rows.map(binding) } } });

/** All lines, from all rows of all instants. */
function naively(instants: readonly (readonly Row[])[]): Omit<Charted, "at"> {
  const all = instants.flat();
  const rooms = all.some(([room]) => room !== null), floors = all.some(([, floor]) => floor !== null), numbers = all.some(([, , celsius]) => celsius !== null);
  const name = ([room]: Row): string => (rooms ? (room ?? "") : "");
  const crowded = instants.some((rows) => ["floor", "celsius"].some((plot) => {
    const names = rows.filter(([, floor, celsius]) => (plot === "floor" ? floor : celsius) !== null).map(name);
    return new Set(names).size < names.length;
  }));
  const split = crowded && floors && numbers; // the floor is the first whole number
  const lines = new Map<string, Map<string, (number | null)[]>>();
  let mean = false;
  instants.forEach((rows, place) => {
    const values = new Map<string, number[]>();
    for (const row of rows)
      for (const [plot, value] of [["floor", split ? null : row[1]], ["celsius", row[2]]] as const) {
        if (value === null) continue;
        const group = [...(rooms ? [row[0] ?? ""] : []), ...(split ? [row[1] === null ? "" : String(row[1])] : [])].join(" · ") || plot;
        values.set(`${plot}|${group}`, [...(values.get(`${plot}|${group}`) ?? []), value]);
      }
    for (const [key, some] of values) {
      const [plot, group] = key.split("|") as [string, string];
      const there = lines.get(plot) ?? new Map<string, (number | null)[]>();
      lines.set(plot, there);
      const line = there.get(group) ?? instants.map(() => null);
      there.set(group, line);
      if (some.length > 1) mean = true;
      line[place] = some.reduce((sum, value) => sum + value) / some.length;
    }
  });
  if (!lines.size) return { plots: [{ title: "rows", kind: "count", lines: [{ name: "rows", values: instants.map((rows) => rows.length) }] }], names: ["rows"], more: 0, mean: false };
  const often = new Map<string, number>();
  for (const there of lines.values()) for (const [group, values] of there) often.set(group, (often.get(group) ?? 0) + values.filter((value) => value !== null).length);
  const sorted = [...often].sort(([a, many], [b, few]) => few - many || a.localeCompare(b)).map(([group]) => group);
  const names = sorted.slice(0, MOST_LINES).sort((a, b) => a.localeCompare(b));
  const plots = [...lines].map(([title, there]) => ({ title, kind: "lines" as const, lines: names.map((group) => ({ name: group, values: there.get(group) ?? instants.map(() => null) })) }));
  return { plots: plots.sort((a, b) => a.title.localeCompare(b.title)), names, more: sorted.length - names.length, mean };
}

/** Sums by changes and sums of all are not the same to the last bit. */
const rounded = (charted: object): unknown => JSON.parse(JSON.stringify(charted, (_, value: unknown) => (typeof value === "number" ? Math.round(value * 1e6) / 1e6 : value)));

function instants(draw: Draw): Row[][] {
  const rooms = draw.of([[null], ["lab"], ["lab", "hall", "attic", null], Array.from({ length: 20 }, (_, number) => `room ${number}`)]);
  const row = (): Row => [draw.of(rooms), draw.of([null, 1, 2, 3]), draw.of([null, 20, 21, 19.5, 22.25])];
  let rows: Row[] = [];
  return Array.from({ length: 1 + draw.below(10) }, () => (rows = [...rows.filter(() => draw.below(3)), ...draw.list(draw.of([2, 20]), row)]));
}

test("lines are those of all answers, at each instant", () => {
  each(200, (draw) => {
    const said = instants(draw), charting = new Charting({});
    let held: Held = EMPTY;
    said.forEach((rows, place) => {
      held = folded(held, "keyframe", told(place + 1, rows)).held;
      if (!draw.below(3)) return; // not drawn at each of them
      if (!draw.below(4)) held = foldedRange(EMPTY, said.slice(0, place + 1).map((one, before) => told(before + 1, one))).held; // reached back
      const { at, ...charted } = charting.charted(held, Infinity);
      assert.deepEqual(at, said.slice(0, place + 1).map((_, before) => before + 1));
      assert.deepEqual(rounded(charted), rounded(naively(said.slice(0, place + 1))));
      const until = 1 + draw.below(place + 1);
      assert.deepEqual(charting.charted(held, until).at, at.slice(0, until));
    });
  });
});

test("truths are a band, and what has no numbers is counted", () => {
  const truths = foldedRange(EMPTY, [true, true, false].map((boolean, place) => ({ at: place, results: { head: {}, boolean } }))).held;
  assert.deepEqual(new Charting({}).charted(truths, Infinity).plots, [{ title: "answer", kind: "truth", lines: [{ name: "answer", values: [1, 1, 0] }] }]);
  const graphs = foldedRange(EMPTY, ["<urn:a> <urn:b> <urn:c> .\n", ""].map((triples, at) => ({ at, triples }))).held;
  assert.deepEqual(new Charting({}).charted(graphs, Infinity).plots, [{ title: "triples", kind: "count", lines: [{ name: "triples", values: [1, 0] }] }]);
  assert.equal(new Charting({}).charted(EMPTY, Infinity).at.length, 0);
});
