// From answers to lines: which columns are numbers, whose numbers they are, and how they went from instant to instant.
//
//     const charting = new Charting(prefixes);
//     const { plots } = charting.charted(held, Infinity);
//     plots[0].title, plots[0].lines[0].name, plots[0].lines[0].values        // "speed", "Harbour", [44.9, 45.2, null, …]
//
// A line is a group: the values of the columns that are no numbers (see `columns`). Of a graph, a plot is a property and a
// line a subject. Where nothing is a number, what is drawn is how many rows there were; yes and no are a band.
//
// A line takes a value where one of its rows has come or gone, and keeps it till then: an instant costs what has changed.
// All is made again only where a column turns out to be something else.

import type { Answer, Row } from "../events/answer";
import type { Change } from "../events/change";
import { answerAt, type Held, type Step } from "../events/fold";
import type { Prefixes } from "../prefixes";
import { Columns, type Reader } from "./columns";

export const MOST_LINES = 12;
const MOST_PLOTS = 4;
const MOST_INSTANTS = 300;
const MANY_LINES = 1000, SAME_CHOICE = 50;

export interface Line {
  name: string;
  values: (number | null)[];
}

export interface Plot {
  title: string;
  kind: "lines" | "count" | "truth";
  lines: Line[];
}

export interface Charted {
  at: number[];
  plots: Plot[];
  /** Names of all lines, in the order in which they take their colours; each name is the same line in every plot. */
  names: string[];
  /** How many groups there are besides those that are drawn. */
  more: number;
  /** Whether several rows of an instant had the same group, so that their mean is drawn. */
  mean: boolean;
}

/** The values of a line: where it took one, until it takes another one. */
interface Track {
  sum: number;
  rows: number;
  taken: { place: number; value: number | null }[];
}

class Series {
  readonly at: number[] = [];
  readonly lengths: number[] = [];
  readonly plots = new Map<string, Map<string, Track>>();
  mean = false;

  constructor(private readonly read: Reader) {}

  hear(at: number, { removed, added }: Change): void {
    const place = this.at.length;
    const touched = new Set<Track>();
    const move = (terms: Row["terms"], sign: 1 | -1): void => {
      for (const { plot, line, value } of this.read(terms)) {
        const track = this.trackOf(plot, line);
        track.rows += sign;
        track.sum = track.rows ? track.sum + sign * value : 0;
        touched.add(track);
      }
    };
    for (const { row } of removed) move(row.terms, -1);
    for (const { row } of added) move(row.terms, 1);
    for (const track of touched) {
      if (track.rows > 1) this.mean = true;
      track.taken.push({ place, value: track.rows ? track.sum / track.rows : null });
    }
    this.at.push(at);
    this.lengths.push((this.lengths.at(-1) ?? 0) + added.length - removed.length);
  }

  private trackOf(plot: string, line: string): Track {
    let lines = this.plots.get(plot);
    if (!lines) this.plots.set(plot, (lines = new Map()));
    let track = lines.get(line);
    if (!track) lines.set(line, (track = { sum: 0, rows: 0, taken: [] }));
    return track;
  }
}

/** What a line was from one place to another, both as of `at`. */
function valuesOf(track: Track | undefined, from: number, to: number): (number | null)[] {
  const values: (number | null)[] = Array(to - from).fill(null);
  track?.taken.forEach(({ place, value }, number) => {
    const end = Math.min(to, track.taken[number + 1]?.place ?? to);
    if (place < end) values.fill(value, Math.max(0, place - from), Math.max(0, end - from));
  });
  return values;
}

/** At how many of these places there was a value. */
function often({ taken }: Track, from: number, to: number): number {
  let found = 0;
  taken.forEach(({ place, value }, number) => {
    if (value !== null) found += Math.max(0, Math.min(to, taken[number + 1]?.place ?? to) - Math.max(from, place));
  });
  return found;
}

interface Chosen {
  names: string[];
  more: number;
  /** The place of the instant at which they were chosen. */
  last: number;
}

const { compare: byName } = new Intl.Collator();

/** The lines that were seen at most instants. */
function oftenest(seen: ReadonlyMap<string, number>): string[] {
  const found: string[] = [];
  const before = (one: string, other: string): boolean => ((seen.get(other) ?? 0) - (seen.get(one) ?? 0) || byName(one, other)) < 0;
  for (const name of seen.keys()) {
    const last = found.at(-1);
    if (found.length === MOST_LINES && last !== undefined && !before(name, last)) continue;
    const place = found.findIndex((other) => before(name, other));
    found.splice(place < 0 ? found.length : place, 0, name);
    found.length = Math.min(found.length, MOST_LINES);
  }
  return found;
}

export class Charting {
  private columns: Columns | undefined;
  private series: Series | undefined;
  private last: Step | undefined;
  private choice: Chosen | undefined;

  constructor(private readonly prefixes: Prefixes) {}

  /** What is drawn of the last instants up to one. */
  charted(held: Held, until: number): Charted {
    if (!held.answer) return { at: [], plots: [], names: [], more: 0, mean: false };
    this.follow(held, held.answer);
    const { at, lengths, plots, mean } = this.series as Series;
    const to = at.findLastIndex((one) => one <= until) + 1, from = Math.max(0, to - MOST_INSTANTS);
    const times = at.slice(from, to), { kind } = held.answer;
    const { names, more } = this.chosen(from, to);
    if (!names.length) {
      const name = kind === "graph" ? "triples" : "rows";
      return { at: times, plots: [{ title: name, kind: "count", lines: [{ name, values: lengths.slice(from, to) }] }], names: [name], more: 0, mean: false };
    }
    const drawn = [...plots].slice(0, MOST_PLOTS).map(([title, lines]): Plot => ({
      title,
      kind: kind === "truth" ? "truth" : "lines",
      lines: names.map((name) => ({ name, values: valuesOf(lines.get(name), from, to) })),
    }));
    return { at: times, plots: drawn.sort((a, b) => a.title.localeCompare(b.title)), names, more, mean };
  }

  /** The lines that are drawn. To choose is to look at all of them: of very many the choice holds for some instants. */
  private chosen(from: number, to: number): Chosen {
    const { plots } = this.series as Series;
    const { last } = this.choice ?? {};
    const many = [...plots.values()].reduce((sum, lines) => sum + lines.size, 0) > MANY_LINES;
    if (this.choice && many && last !== undefined && to >= last && to < last + SAME_CHOICE) return this.choice;
    const seen = new Map<string, number>();
    for (const lines of plots.values()) for (const [line, track] of lines) {
      const there = often(track, from, to);
      if (there) seen.set(line, (seen.get(line) ?? 0) + there);
    }
    // By name, so that a line keeps its colour while others come and go.
    const names = oftenest(seen).sort(byName);
    return (this.choice = { names, more: seen.size - names.length, last: to });
  }

  private follow(held: Held, answer: Answer): void {
    const place = this.last ? held.steps.lastIndexOf(this.last) : -1;
    const known = place >= 0 && this.columns?.suits(answer) && (this.series?.at.length ?? 0) < 2 * MOST_INSTANTS;
    // What the feed reached back to since lies before.
    if (!known || (this.series?.at.length ?? 0) < Math.min(place + 1, MOST_INSTANTS)) return this.begin(held, answer);
    for (const { at, change } of held.steps.slice(place + 1)) {
      if (!change || this.columns?.see(change.added)) return this.begin(held, answer);
      this.series?.hear(at, change);
    }
    if (this.series?.mean && this.columns?.split()) return this.begin(held, answer);
    this.last = held.steps.at(-1);
  }

  private begin(held: Held, answer: Answer): void {
    const first = Math.max(0, held.steps.length - MOST_INSTANTS, held.steps.findLastIndex(({ change }) => !change));
    const base = [...(answerAt(held, first) ?? answer).rows].map((row, place) => ({ place, row }));
    const later = held.steps.slice(first + 1);
    const columns = (this.columns = new Columns(answer, this.prefixes));
    columns.see(base);
    for (const { change } of later) columns.see(change?.added ?? []);
    do {
      const series = (this.series = new Series(columns.reader()));
      series.hear(held.steps[first]?.at ?? answer.at, { removed: [], added: base });
      for (const { at, change } of later) if (change) series.hear(at, change);
    } while (this.series.mean && columns.split());
    this.last = held.steps.at(-1);
    this.choice = undefined;
  }
}
