// From answers to lines: which columns are numbers, whose numbers they are, and how they went from instant to instant.
//
//     const { plots } = charted(answers, prefixes);
//     plots[0].title, plots[0].lines[0].name, plots[0].lines[0].values        // "speed", "Harbour", [44.9, 45.2, null, …]
//
// A line is a group: the values of the columns that are no numbers. Of a graph, a plot is a property and a line a subject.
// Where nothing is a number, what is drawn is how many rows there were; yes and no are a band.

import type { Answer } from "../events/answer";
import type { Prefixes } from "../prefixes";
import { brief, numberOf } from "../terms";
import type { Term } from "../types";

export const MOST_LINES = 12;
const MOST_PLOTS = 4;
const TIMES = /#(dateTime|dateTimeStamp|time|date|duration|dayTimeDuration)$/;

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

interface Measured {
  plot: string;
  line: string;
  value: number;
}

export function charted(answers: readonly Answer[], prefixes: Prefixes): Charted {
  const at = answers.map((answer) => answer.at);
  const kind = answers.at(-1)?.kind ?? "table";
  if (kind === "truth") {
    const values = answers.map(({ rows }) => (rows[0]?.terms[0]?.value === "true" ? 1 : 0));
    return { at, plots: [{ title: "answer", kind: "truth", lines: [{ name: "answer", values }] }], names: ["answer"], more: 0, mean: false };
  }
  const read = kind === "graph" ? ofGraphs(prefixes) : ofTables(answers, prefixes);
  const found = read && gathered(answers, read);
  if (!found || !found.plots.length) {
    const name = kind === "graph" ? "triples" : "rows";
    const values = answers.map(({ rows }) => rows.length);
    return { at, plots: [{ title: name, kind: "count", lines: [{ name, values }] }], names: [name], more: 0, mean: false };
  }
  return { at, ...found };
}

type Reader = (terms: readonly (Term | undefined)[]) => Measured[];

const ofGraphs = (prefixes: Prefixes): Reader => ([subject, predicate, object]) => {
  const value = numberOf(object);
  return value === undefined ? [] : [{ plot: brief(predicate, prefixes), line: brief(subject, prefixes), value }];
};

function ofTables(answers: readonly Answer[], prefixes: Prefixes): Reader | undefined {
  const variables = answers.at(-1)?.variables ?? [];
  const numeric: number[] = [], groups: number[] = [];
  variables.forEach((_, column) => {
    let numbers = 0, others = 0, times = 0;
    for (const { rows } of answers)
      for (const { terms: { [column]: term } } of rows) {
        if (!term) continue;
        if (numberOf(term) !== undefined) numbers++;
        else if (TIMES.test(term.datatype ?? "")) times++;
        else others++;
      }
    if (numbers && !others && !times) numeric.push(column);
    else if (others) groups.push(column);
  });
  // Where several rows have no column that tells them apart, the first whole number does: a floor, a number of a line.
  const crowded = (): boolean => answers.some(({ rows }) => new Set(rows.map((row) => keyOf(row.terms, groups))).size < rows.length);
  const whole = numeric.find((column) => answers.every(({ rows }) => rows.every(({ terms }) => Number.isInteger(numberOf(terms[column]) ?? 0))));
  if (numeric.length > 1 && whole !== undefined && crowded()) {
    numeric.splice(numeric.indexOf(whole), 1);
    groups.push(whole);
  }
  if (!numeric.length) return undefined;
  return (terms) => {
    const line = groups.map((column) => brief(terms[column], prefixes)).join(" · ");
    return numeric.flatMap((column) => {
      const value = numberOf(terms[column]);
      return value === undefined ? [] : [{ plot: variables[column] ?? "", line: line || (variables[column] ?? ""), value }];
    });
  };
}

const keyOf = (terms: readonly (Term | undefined)[], columns: readonly number[]): string =>
  columns.map((column) => terms[column]?.value ?? "").join("\u0001");

function gathered(answers: readonly Answer[], read: Reader): Omit<Charted, "at"> {
  const plots = new Map<string, Map<string, (number | null)[]>>();
  const often = new Map<string, number>();
  let mean = false;
  answers.forEach(({ rows }, place) => {
    const counts = new Map<string, number>();
    for (const { terms } of rows)
      for (const { plot, line, value } of read(terms)) {
        const lines = plots.get(plot) ?? new Map<string, (number | null)[]>();
        plots.set(plot, lines);
        let values = lines.get(line);
        if (!values) lines.set(line, (values = answers.map(() => null)));
        const before = counts.get(`${plot}\u0001${line}`) ?? 0;
        if (before) mean = true;
        values[place] = ((values[place] ?? 0) * before + value) / (before + 1);
        counts.set(`${plot}\u0001${line}`, before + 1);
        often.set(line, (often.get(line) ?? 0) + 1);
      }
  });
  const all = [...often].sort(([a, many], [b, few]) => few - many || a.localeCompare(b)).map(([name]) => name);
  // By name, so that a line keeps its colour while others come and go.
  const names = all.slice(0, MOST_LINES).sort((a, b) => a.localeCompare(b));
  const drawn = [...plots].slice(0, MOST_PLOTS).map(([title, lines]) => ({
    title,
    kind: "lines" as const,
    lines: names.map((name) => ({ name, values: lines.get(name) ?? answers.map(() => null) })),
  }));
  return { plots: drawn.sort((a, b) => a.title.localeCompare(b.title)), names, more: all.length - names.length, mean };
}
