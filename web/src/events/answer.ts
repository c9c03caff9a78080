// An answer: what a query said at one instant, as rows that can be told apart.
//
//     const answer = answerOf(JSON.parse(event.data));
//     answer.rows.at(0).key                                 // the row's terms whole, joined: equal rows have equal keys
//     groupOf(row, answer)                                  // those of the columns that tell the answer's rows apart
//
// A graph is a table of subject, predicate and object; yes and no are a table of one row. Where it is known which columns
// tell rows apart, rows lie in the order of those, and then of the others; but a list (ORDER BY) as it was told.

import { whole } from "../terms";
import type { Term } from "../types";
import { triplesOf } from "./ntriples";
import { Rows } from "./rows";

export type Until = number | null | undefined;

export interface Row {
  key: string;
  terms: (Term | undefined)[];
  /** Until when the row holds, if nothing more arrives: an instant, null for ever, undefined when it is not known. */
  until: Until;
}

export interface Answer {
  at: number;
  kind: "table" | "graph" | "truth";
  variables: string[];
  /** The columns in which rows are told apart first, and how many of them it takes: of a grouped query those of its groups. */
  columns: readonly number[];
  telling: number;
  /** Whether rows lie in the order that they were told in. */
  listed: boolean;
  rows: Rows<Row>;
}

export type Bindings = Record<string, Term>[];

/** What wholes hold: those of a range, and events (with `results` or `triples`); and answers of questions. */
export interface Told {
  at: number;
  query?: string;
  /** Of the query that says it. */
  version?: number;
  key?: string[];
  listed?: boolean;
  until?: Until[];
  triples?: string;
  boolean?: boolean;
  head?: { vars?: string[] };
  results?: SparqlJson | { bindings: Bindings };
}

interface SparqlJson {
  head?: { vars?: string[] };
  boolean?: boolean;
  results?: { bindings: Bindings };
}

const BOOLEAN = "http://www.w3.org/2001/XMLSchema#boolean";
const TRIPLE = ["s", "p", "o"];

export function answerOf(told: Told): Answer {
  const { at, until } = told;
  if (told.triples !== undefined) return ordered({ at, kind: "graph", ...shape(TRIPLE, TRIPLE), rows: tripleRows(told.triples) });
  const document: SparqlJson = told.head ? (told as SparqlJson) : ((told.results ?? {}) as SparqlJson);
  if (document.boolean !== undefined) return truthOf(at, document.boolean, until);
  const variables = document.head?.vars ?? [];
  const shaped = shape(variables, told.key);
  const rows = bindingRows(document.results?.bindings ?? [], until, shaped);
  return told.key && !told.listed
    ? ordered({ at, kind: "table", ...shaped, rows })
    : { at, kind: "table", ...shaped, listed: true, rows: Rows.of(rows) };
}

/** Yes or no. */
export function truthOf(at: number, truth: boolean, until: Until[] | undefined): Answer {
  const terms: Term[] = [{ type: "literal", value: String(truth), datatype: BOOLEAN }];
  return { at, kind: "truth", ...shape(["answer"], []), listed: false, rows: Rows.of([rowOf(terms, until?.[0], [0])]) };
}

export function bindingRows(bindings: Bindings, until: Until[] | undefined, { variables, columns }: Pick<Answer, "variables" | "columns">): Row[] {
  return bindings.map((solution, place) => rowOf(variables.map((name) => solution[name]), until?.[place], columns));
}

export const tripleRows = (ntriples: string): Row[] => triplesOf(ntriples).map((terms) => rowOf(terms, undefined, [0, 1, 2]));

function shape(variables: string[], key: readonly string[] = variables): Pick<Answer, "variables" | "columns" | "telling"> {
  const telling = key.map((name) => variables.indexOf(name)).filter((column) => column >= 0);
  const others = variables.map((_, column) => column).filter((column) => !telling.includes(column));
  return { variables, columns: [...telling, ...others], telling: telling.length };
}

function rowOf(terms: (Term | undefined)[], until: Until, columns: readonly number[]): Row {
  return { key: joined(terms, columns), terms, until };
}

const joined = (terms: readonly (Term | undefined)[], columns: readonly number[]): string =>
  columns.map((column) => (terms[column] ? whole(terms[column]) : "")).join("\u0001");

/** What tells the row apart from the others of its answer. */
export const groupOf = (row: Row, { columns, telling }: Answer): string =>
  telling === columns.length ? row.key : joined(row.terms, columns.slice(0, telling));

/** Which of two rows is before the other (less than 0); of equal rows the one that holds longer. */
export function compared(one: Row, other: Row): number {
  if (one.key !== other.key) return one.key < other.key ? -1 : 1;
  const [until, than] = [lasting(one.until), lasting(other.until)];
  return until === than ? 0 : until > than ? -1 : 1;
}

const lasting = (until: Until): number => (until === null ? Infinity : (until ?? -Infinity));

function ordered(answer: Omit<Answer, "rows" | "listed"> & { rows: Row[] }): Answer {
  return { ...answer, listed: false, rows: Rows.of(inOrder(answer.rows)) };
}

export function inOrder(rows: Row[]): Row[] {
  const there = rows.every((row, place) => place === 0 || compared(rows[place - 1] as Row, row) <= 0);
  return there ? rows : [...rows].sort(compared);
}

/** The place of a row, or of the one that is there in its stead; undefined in a list. */
export const placeOf = (row: Row, { rows, listed }: Answer): number | undefined =>
  listed ? undefined : rows.search((other) => compared(other, row));
