// From which triples a row may be made: the patterns of the query, with the terms of the row in their variables.
//
//     const { sure, open } = offered(explained.reads, terms)    // triples; and patterns that are not filled
//     await lookedFor(query, open, terms, signal)                        // what streams hold now that fits those
//
// What a row does not tell (a sensor, where it tells a room) is asked of what the streams hold now. That need not be what
// they held at the instant: whether a triple held then is what the question why answers.

import { call, SPARQL } from "../api";
import type { QueryInfo, Term } from "../types";
import { whole } from "../terms";
import { filled, patternOf, variablesOf, type Part } from "./patterns";

const MOST_SOLUTIONS = 5;
const MOST_TRIPLES = 24;

export type Terms = Readonly<Record<string, Term | undefined>>;

export interface Offered {
  sure: string[];
  open: Part[][][];
}

export function offered(reads: string[][] | null, terms: Terms): Offered {
  const sure = new Set<string>();
  const open: Part[][][] = [];
  for (const group of reads ?? []) {
    const patterns = group.map(patternOf).filter((pattern) => pattern.length === 3);
    const left = patterns.filter((pattern) => {
      const triple = filled(pattern, terms);
      if (triple) sure.add(triple);
      return triple === undefined;
    });
    if (left.length && patterns.some((pattern) => variablesOf(pattern).some((name) => terms[name]))) open.push(patterns);
  }
  return { sure: [...sure], open };
}

const written = (part: Part): string =>
  part.type !== "variable" ? whole(part) : part.value.startsWith("_:") ? `?blank_${part.value.slice(2).replace(/\W/g, "_")}` : `?${part.value}`;

/** The question that finds solutions of a group of patterns; undefined if its windows cannot be asked about. */
export function question(query: QueryInfo, patterns: readonly (readonly Part[])[], terms: Terms): string | undefined {
  if (query.named_graphs.length || query.windows.some(({ range, name }) => range === undefined || name !== undefined)) return undefined;
  const names = [...new Set(patterns.flatMap(variablesOf))].filter((name) => terms[name] && terms[name]?.type !== "bnode");
  const values = names.map((name) => `VALUES ?${name} { ${whole(terms[name] as Term)} }`);
  return [
    "SELECT *",
    ...query.graphs.map((graph) => `FROM <${graph}>`),
    ...query.windows.map(({ stream, range }) => `FROM STREAM <${stream}> [RANGE ${range}ms]`),
    ...(query.entailment.length ? [`USING ENTAILMENT ${query.entailment.join(", ")}`] : []),
    `WHERE { ${values.join(" ")} ${patterns.map((pattern) => `${pattern.map(written).join(" ")} .`).join(" ")} }`,
    `LIMIT ${MOST_SOLUTIONS}`,
  ].join("\n");
}

/** Triples of what the streams hold now, that may have made a row. */
export async function lookedFor(query: QueryInfo, open: readonly Part[][][], terms: Terms, signal: AbortSignal): Promise<string[]> {
  const found = new Set<string>();
  for (const patterns of open.slice(0, 3)) {
    const body = question(query, patterns, terms);
    if (!body) continue;
    const response = await call("POST", "/sparql", { body, type: SPARQL, accept: "application/sparql-results+json", signal });
    const told = (await response.json()) as { results: { bindings: Record<string, Term>[] } };
    for (const solution of told.results.bindings)
      for (const pattern of patterns) {
        const all = Object.fromEntries(variablesOf(pattern).map((name) => [name, solution[written({ type: "variable", value: name }).slice(1)]]));
        const triple = filled(pattern, all);
        if (triple) found.add(triple);
      }
  }
  return [...found].slice(0, MOST_TRIPLES);
}
