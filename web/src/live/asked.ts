// Asking why, from elsewhere: the address then says of what. `?tab=why&at=…&triple=<s> <p> <o>`, or `&row=3` of an answer.

import { say } from "../route";
import { whole } from "../terms";
import type { Term } from "../types";

/** Why a triple of an answer holds. */
export const askWhy = (at: number, terms: readonly (Term | undefined)[]): void =>
  say({ tab: "why", at, row: null, triple: terms.map((term) => (term ? whole(term) : "")).join(" ") });

/** Why a row of an answer is there: the panel finds out which triples it was made from. */
export const askWhyRow = (at: number, row: number): void => say({ tab: "why", at, row, triple: null });
