// Asking why, from elsewhere: the address then says of what. `?tab=why&at=…&triple=<s> <p> <o>`, or `&row=3` of an answer;
// `made` is the triple of an answer that is a graph, when it is one of those that it may be made from that is asked of.

import type { Row } from "../events/answer";
import type { Shown } from "../events/shown";
import { say } from "../route";
import { whole } from "../terms";
import type { Term } from "../types";

export const written = (terms: readonly (Term | undefined)[]): string => terms.map((term) => (term ? whole(term) : "")).join(" ");

/** Why a triple of an answer holds. */
export const askWhy = (at: number, terms: readonly (Term | undefined)[]): void => say({ tab: "why", at, row: null, made: written(terms), triple: written(terms) });

/** Why a row of the answer that is looked at is there; not, if somebody only selects its text. */
export function whyOf(row: Row, place: number, { answer }: Shown): void {
  if (!answer || answer.kind === "truth" || !getSelection()?.isCollapsed) return;
  if (answer.kind === "graph") askWhy(answer.at, row.terms);
  else say({ tab: "why", at: answer.at, row: place, triple: null });
}
