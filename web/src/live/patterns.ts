// Triple patterns, as the server writes them: terms in N-Triples syntax, variables as `?name`.
//
//     const pattern = patternOf("?reading <http://example.org/city#by> ?sensor");
//     filled(pattern, { reading: …, sensor: … })           // "<…> <…> <…>", or undefined if a variable has no term
//
// A variable is a part with `variable`; a blank node of a query is one that nobody can name.

import { triplesOf } from "../events/ntriples";
import { whole } from "../terms";
import type { Term } from "../types";

export type Part = Term | { type: "variable"; value: string };

const WORDS = /<[^>]*>|[?$][^\s]+|_:[^\s]+|"(?:[^"\\]|\\.)*"(?:\^\^<[^>]*>|@[A-Za-z]+(?:-[A-Za-z0-9]+)*)?/g;
const ANY = "<urn:any>";

/** The term that a text in N-Triples syntax is. */
export function termOf(text: string): Term {
  // Predicates may be IRIs only, so the term is read as an object.
  const [triple] = triplesOf(`${ANY} ${ANY} ${text} .`);
  return triple?.[2] ?? { type: "literal", value: text };
}

/** The terms and variables of a text, as they are written. */
export const wordsOf = (text: string): string[] => text.match(WORDS) ?? [];

export const patternOf = (text: string): Part[] =>
  wordsOf(text).map((word) =>
    /^[?$]/.test(word) ? { type: "variable", value: word.slice(1) }
      : word.startsWith("_:") ? { type: "variable", value: word } : termOf(word));

export const variablesOf = (pattern: readonly Part[]): string[] =>
  pattern.filter((part) => part.type === "variable").map(({ value }) => value);

/** The triple that a pattern is, once its variables have terms: in N-Triples syntax. */
export function filled(pattern: readonly Part[], terms: Readonly<Record<string, Term | undefined>>): string | undefined {
  const parts = pattern.map((part) => (part.type === "variable" ? terms[part.value] : part));
  return parts.every((part) => part !== undefined) ? parts.map((part) => whole(part as Term)).join(" ") : undefined;
}
