// N-Triples, as answers that are graphs are told: one triple a line.

import type { Term } from "../types";

export type Triple = [subject: Term, predicate: Term, object: Term];

const TERM = /\s*(?:<([^>]*)>|_:([^\s<>"]+)|"((?:[^"\\]|\\.)*)"(?:\^\^<([^>]*)>|@([A-Za-z]+(?:-[A-Za-z0-9]+)*))?)/y;
const ESCAPE = /\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))/g;
const SIGNS: Record<string, string> = { t: "\t", n: "\n", r: "\r", b: "\b", f: "\f" };

const plain = (text: string): string =>
  text.includes("\\")
    ? text.replace(ESCAPE, (_, four?: string, eight?: string, sign?: string) => {
        const code = four ?? eight;
        return code ? String.fromCodePoint(parseInt(code, 16)) : (SIGNS[sign ?? ""] ?? sign ?? "");
      })
    : text;

function termAt(line: string): Term | undefined {
  const match = TERM.exec(line);
  if (!match) return undefined;
  const [, iri, label, value, datatype, language] = match;
  if (iri !== undefined) return { type: "uri", value: plain(iri) };
  if (label !== undefined) return { type: "bnode", value: label.replace(/\.$/, "") };
  const literal: Term = { type: "literal", value: plain(value ?? "") };
  if (datatype) literal.datatype = plain(datatype);
  if (language) literal["xml:lang"] = language;
  return literal;
}

/** The triples of a text; lines that are none are left out. */
export function triplesOf(text: string): Triple[] {
  const triples: Triple[] = [];
  for (const line of text.split("\n")) {
    TERM.lastIndex = 0;
    const [subject, predicate, object] = [termAt(line), termAt(line), termAt(line)];
    if (subject && predicate && object) triples.push([subject, predicate, object]);
  }
  return triples;
}
