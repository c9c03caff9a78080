// Short names of IRIs: `room:lab` for <http://example.org/rooms/lab>.
//
// Prefixes come from the server's vocabulary and, before those, from the text that an answer belongs to.

import { get } from "./api";
import { Store } from "./store";
import type { Vocabulary } from "./types";

export type Prefixes = Readonly<Record<string, string>>;

const NOTHING: Vocabulary = { prefixes: {}, streams: [], graphs: [], rules: [], properties: [], classes: [], keywords: [] };
export const vocabulary = new Store<Vocabulary>(NOTHING);

const FRESH = 10_000;
let looked = -FRESH;

/** Ask for the vocabulary, unless that was just done. */
export async function lookAtVocabulary(): Promise<void> {
  if (performance.now() - looked < FRESH) return;
  looked = performance.now();
  try {
    vocabulary.set(await get<Vocabulary>("/vocabulary"));
  } catch {
    looked = -FRESH; // Completion knows less for a while: nothing else depends on it.
  }
}

const DECLARED = /\b(?:@?prefix)\s+([\p{L}\p{N}_.-]*):\s*<([^>\s]*)>/giu;

/** The prefixes that a text declares. */
export const declared = (text: string): Record<string, string> =>
  Object.fromEntries([...text.matchAll(DECLARED)].map(([, name, iri]) => [name, iri]));

const LOCAL = /^[\p{L}\p{N}_](?:[\p{L}\p{N}_.-]*[\p{L}\p{N}_-])?$/u;

/** The shortest name of an IRI; undefined if no prefix fits. */
export function shortened(iri: string, ...known: Prefixes[]): string | undefined {
  let best: string | undefined;
  for (const prefixes of known)
    for (const [name, start] of Object.entries(prefixes)) {
      if (!start || !iri.startsWith(start) || !LOCAL.test(iri.slice(start.length))) continue;
      const short = `${name}:${iri.slice(start.length)}`;
      if (best === undefined || short.length < best.length) best = short;
    }
  return best;
}
