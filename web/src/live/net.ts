// From triples to a drawing: a node for each subject and each object, one edge between two of them with the names of all
// properties that lead from one to the other. Literals are leaves: each triple has its own.
//
//     const net = netOf(answer.rows, prefixes);
//     net.nodes[0].label, net.edges[0].label, net.more       // "c:OldTown", "c:crawlsAt", triples that are not drawn

import type { Row } from "../events/answer";
import type { Prefixes } from "../prefixes";
import { brief, numberOf, whole } from "../terms";
import type { Term } from "../types";

export const MOST_NODES = 150;
const LONGEST = 28;

export interface Node {
  key: string;
  term: Term;
  label: string;
  leaf: boolean;
  width: number;
  height: number;
}

export interface Edge {
  key: string;
  from: number;
  to: number;
  label: string;
}

export interface Net {
  nodes: Node[];
  edges: Edge[];
  /** How many triples are left out, since there are too many nodes. */
  more: number;
}

const cut = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

const NUMBER = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 6, useGrouping: false });

function labelOf(term: Term, prefixes: Prefixes): string {
  const number = term.value.length > 8 ? numberOf(term) : undefined;
  return number === undefined ? cut(brief(term, prefixes).replace(/^https?:\/\/.*[/#](?=.)/, "…")) : NUMBER.format(number);
}

export function netOf(rows: Iterable<Row>, prefixes: Prefixes): Net {
  const nodes: Node[] = [];
  const places = new Map<string, number>();
  const edges = new Map<string, Edge>();
  const leaves = new Map<string, number>();
  // A literal is told by what it is the value of, so that it stays where it is when the value changes.
  const leafKey = (of: string): string => {
    leaves.set(of, (leaves.get(of) ?? 0) + 1);
    return `${of} ${leaves.get(of)}`;
  };
  let more = 0;
  for (const { terms: [subject, predicate, object] } of rows) {
    if (!subject || !predicate || !object) continue;
    const objectKey = object.type === "literal" ? leafKey(`${whole(subject)} ${whole(predicate)}`) : whole(object);
    const needed = Number(!places.has(whole(subject))) + Number(!places.has(objectKey));
    if (nodes.length + needed > MOST_NODES) {
      more++;
      continue;
    }
    const place = (term: Term, named: string): number => {
      let there = places.get(named);
      if (there === undefined) {
        const label = labelOf(term, prefixes);
        const leaf = term.type === "literal";
        places.set(named, (there = nodes.length));
        nodes.push({ key: named, term, label, leaf, width: 18 + 7 * label.length, height: leaf ? 22 : 26 });
      }
      return there;
    };
    const from = place(subject, whole(subject)), to = place(object, objectKey);
    const label = brief(predicate, prefixes).replace(/^https?:\/\/.*[/#](?=.)/, "…");
    const edge = edges.get(`${from} ${to}`);
    if (!edge) edges.set(`${from} ${to}`, { key: `${whole(subject)} ${objectKey}`, from, to, label });
    else if (!edge.label.split(", ").includes(label)) edge.label += `, ${label}`;
  }
  return { nodes, edges: [...edges.values()], more };
}
