// What the variables of a CONSTRUCT were, for a triple that it made: the template of the query, matched with the triple.
//
//     boundBy(query.text, ["<…OldTown>", "<…crawlsAt>", "29.5"…], prefixes)      // { place: <…OldTown>, speed: 29.5 }
//
// A template is read word by word, as Turtle is; where it has a form that is not understood, nothing is bound.

import type { Prefixes } from "../prefixes";
import { whole } from "../terms";
import type { Term } from "../types";
import { termOf, type Part } from "./patterns";

const WORD = /<[^>\s]*>|"(?:[^"\\]|\\.)*"(?:\^\^<[^>]*>|@[\w-]+)?|[?$][\p{L}\p{N}_]+|_:[^\s.;,]+|(?:[\p{L}][\p{L}\p{N}_.-]*)?:[\p{L}\p{N}_][\p{L}\p{N}_-]*|[.;,]|[^\s.;,]+/gu;
const TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";

const bodyOf = (text: string): string => /\bCONSTRUCT\s*\{([^{}]*)\}/i.exec(text.replace(/^\s*#.*$/gm, ""))?.[1] ?? "";

function partOf(word: string, prefixes: Prefixes): Part | undefined {
  if (/^[?$]/.test(word)) return { type: "variable", value: word.slice(1) };
  if (word === "a") return { type: "uri", value: TYPE };
  if (/^["<]/.test(word)) return termOf(word);
  const [, prefix, local] = /^([^:]*):(.*)$/.exec(word) ?? [];
  const start = prefix === undefined ? undefined : prefixes[prefix];
  return start === undefined ? undefined : { type: "uri", value: start + (local ?? "") };
}

/** The triple patterns of a template; none, if it has anything else. */
export function templateOf(text: string, prefixes: Prefixes): Part[][] {
  const patterns: Part[][] = [];
  let parts: Part[] = [];
  const end = (kept: number): void => {
    if (parts.length === 3) patterns.push(parts);
    parts = parts.slice(0, kept);
  };
  for (const word of bodyOf(text).match(WORD) ?? []) {
    if (word === ".") end(0);
    else if (word === ";") end(1);
    else if (word === ",") end(2);
    else {
      const part = partOf(word, prefixes);
      if (!part || parts.length === 3) return [];
      parts.push(part);
    }
  }
  end(0);
  return patterns;
}

/** The terms of the variables, if the triple may be from the template. */
export function boundBy(text: string, triple: readonly Term[], prefixes: Prefixes): Record<string, Term> | undefined {
  for (const pattern of templateOf(text, prefixes)) {
    const bound: Record<string, Term> = {};
    const fits = pattern.every((part, place) => {
      const term = triple[place];
      if (!term) return false;
      if (part.type !== "variable") return whole(part) === whole(term);
      const before = bound[part.value];
      bound[part.value] = term;
      return !before || whole(before) === whole(term);
    });
    if (fits) return bound;
  }
  return undefined;
}
