// The columns of an answer, as a chart sees them: which are numbers, and which say whose numbers they are.
//
//     const columns = new Columns(answer, prefixes);
//     columns.see(added);                                   // whether that makes a column something else
//     columns.reader()(row.terms)                           // [{ plot: "speed", line: "Harbour", value: 44.9 }]
//
// Where several rows have the same line, the first whole number tells them apart, if that helps (`split`): a floor, a
// number of a line. What a column was taken for once it is no more when a row says otherwise.

import type { Answer, Row } from "../events/answer";
import type { Placed } from "../events/rows";
import type { Prefixes } from "../prefixes";
import { brief, numberOf } from "../terms";
import type { Term } from "../types";

const TIMES = /#(dateTime|dateTimeStamp|time|date|duration|dayTimeDuration)$/;

export interface Measured {
  plot: string;
  line: string;
  value: number;
}

export type Reader = (terms: readonly (Term | undefined)[]) => Measured[];

interface Column {
  numbers: boolean;
  fractions: boolean;
  times: boolean;
  others: boolean;
}

export class Columns {
  private readonly columns: Column[];
  private crowded = false;

  constructor(private readonly answer: Answer, private readonly prefixes: Prefixes) {
    this.columns = answer.variables.map(() => ({ numbers: false, fractions: false, times: false, others: false }));
  }

  suits({ kind, variables }: Answer): boolean {
    return kind === this.answer.kind && variables.join() === this.answer.variables.join();
  }

  see(added: readonly Placed<Row>[]): boolean {
    let other = false;
    const found = (column: Column, what: keyof Column): void => {
      if (!column[what]) column[what] = other = true;
    };
    if (this.answer.kind === "table")
      for (const { row } of added)
        this.columns.forEach((column, place) => {
          const term = row.terms[place];
          if (!term) return;
          const number = numberOf(term);
          found(column, number !== undefined ? "numbers" : TIMES.test(term.datatype ?? "") ? "times" : "others");
          if (number !== undefined && !Number.isInteger(number)) found(column, "fractions");
        });
    return other;
  }

  /** Several rows have the same line: whether one of the columns tells them apart from now on. */
  split(): boolean {
    if (this.crowded || this.answer.kind !== "table") return false;
    this.crowded = true;
    const numeric = this.numeric();
    return numeric.length > 1 && this.whole(numeric) !== undefined;
  }

  reader(): Reader {
    const { prefixes, answer: { kind, variables } } = this;
    if (kind === "truth") return ([term]) => [{ plot: "answer", line: "answer", value: term?.value === "true" ? 1 : 0 }];
    if (kind === "graph") return ([subject, predicate, object]) => {
      const value = numberOf(object);
      return value === undefined ? [] : [{ plot: brief(predicate, prefixes), line: brief(subject, prefixes), value }];
    };
    const numeric = this.numeric();
    const groups = this.columns.flatMap(({ others }, place) => (others ? [place] : []));
    const whole = this.crowded && numeric.length > 1 ? this.whole(numeric) : undefined;
    if (whole !== undefined) {
      numeric.splice(numeric.indexOf(whole), 1);
      groups.push(whole);
    }
    return (terms) => {
      const line = groups.map((column) => brief(terms[column], prefixes)).join(" · ");
      return numeric.flatMap((column) => {
        const value = numberOf(terms[column]);
        return value === undefined ? [] : [{ plot: variables[column] ?? "", line: line || (variables[column] ?? ""), value }];
      });
    };
  }

  private numeric(): number[] {
    return this.columns.flatMap(({ numbers, others, times }, place) => (numbers && !others && !times ? [place] : []));
  }

  private whole(numeric: readonly number[]): number | undefined {
    return numeric.find((place) => !this.columns[place]?.fractions);
  }
}
