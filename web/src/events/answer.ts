// An answer: what a query said at one instant, as rows that can be told apart.
//
//     const answer = answerOf(JSON.parse(event.data));
//     answer.rows[0].key                                    // the row's terms whole, joined: equal rows have equal keys
//     difference(before, answer)                            // what is new, and what has ceased
//
// A graph is a table of subject, predicate and object; yes and no are a table of one row.

import { whole } from "../terms";
import type { Term } from "../types";
import { triplesOf } from "./ntriples";

export interface Row {
  key: string;
  terms: (Term | undefined)[];
  /** Until when the row holds, if nothing more arrives: an instant, null for ever, undefined when it is not known. */
  until: number | null | undefined;
}

export interface Answer {
  at: number;
  kind: "table" | "graph" | "truth";
  variables: string[];
  rows: Row[];
}

/** What `GET …/answers` (SPARQL JSON with `query` and `at`) and events (with `results` or `triples`) say. */
export interface Told {
  at: number;
  query?: string;
  until?: (number | null)[];
  triples?: string;
  boolean?: boolean;
  head?: { vars?: string[] };
  results?: SparqlJson | { bindings: Record<string, Term>[] };
}

interface SparqlJson {
  head?: { vars?: string[] };
  boolean?: boolean;
  results?: { bindings: Record<string, Term>[] };
}

const BOOLEAN = "http://www.w3.org/2001/XMLSchema#boolean";

export function answerOf(told: Told): Answer {
  const { at, until } = told;
  if (told.triples !== undefined) {
    const rows = triplesOf(told.triples).map((terms, place) => rowOf(terms, until?.[place]));
    return { at, kind: "graph", variables: ["s", "p", "o"], rows };
  }
  const document: SparqlJson = told.head ? (told as SparqlJson) : ((told.results ?? {}) as SparqlJson);
  if (document.boolean !== undefined) {
    const truth: Term = { type: "literal", value: String(document.boolean), datatype: BOOLEAN };
    return { at, kind: "truth", variables: ["answer"], rows: [rowOf([truth], until?.[0])] };
  }
  const variables = document.head?.vars ?? [];
  const rows = (document.results?.bindings ?? []).map((solution, place) =>
    rowOf(variables.map((name) => solution[name]), until?.[place]));
  return { at, kind: "table", variables, rows };
}

const rowOf = (terms: (Term | undefined)[], until: number | null | undefined): Row => ({
  key: terms.map((term) => (term ? whole(term) : "")).join("\u0001"),
  terms,
  until,
});

export interface Difference {
  /** For each row of the later answer, whether it was not there before. */
  fresh: boolean[];
  /** Rows of the earlier answer that are not there any more. */
  ceased: Row[];
}

/** Rows are a bag: of a row that was there once and is there twice, one is new. */
export function difference(before: Answer | undefined, now: Answer): Difference {
  if (!before) return { fresh: now.rows.map(() => false), ceased: [] };
  const left = new Map<string, number>();
  for (const { key } of before.rows) left.set(key, (left.get(key) ?? 0) + 1);
  const fresh = now.rows.map(({ key }) => {
    const there = left.get(key) ?? 0;
    if (there) left.set(key, there - 1);
    return !there;
  });
  const ceased = before.rows.filter(({ key }) => {
    const gone = left.get(key) ?? 0;
    if (gone) left.set(key, gone - 1);
    return gone > 0;
  });
  return { fresh, ceased };
}
