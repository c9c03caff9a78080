// What the server tells the panels, as TypeScript sees it: timeline, missing, explain, why, measures, elements.

import type { WindowInfo } from "../types";

export interface Bounds {
  stream: string;
  name?: string;
  /** null: as far back as there is anything (windows that count). */
  opens: number | null;
  closes: number | null;
}

export interface Dot {
  from: number;
  to: number;
  triples: number;
  late: boolean;
}

export interface Lane {
  stream: string;
  clock: "arrival" | "event" | "derived";
  delay: number;
  newest: number | null;
  reading: number | null;
  elements: Dot[];
}

export interface InstantTold {
  at: number;
  rows: number;
  windows: Bounds[];
}

export interface Timeline {
  query: string;
  status: string;
  now: number;
  from: number;
  to: number;
  windows: WindowInfo[];
  streams: Lane[];
  instants: InstantTold[];
  next: { at: number; windows: Bounds[] } | null;
  says: string;
}

export interface Missing {
  at: number;
  triples: number;
  patterns: { text: string; matches: number }[];
  lost: number | null;
  says: string;
}

export interface PlanNode {
  node: string;
  does: string;
  rows?: number;
  micros?: number;
  kept?: number;
  bytes?: number;
  parts?: PlanNode[];
}

export interface Explained {
  text: string;
  summary: string;
  windows: string[];
  instants: string;
  tells: string;
  sparql: string;
  evaluator: "maintained" | "snapshot";
  because: string | null;
  closures: { window: string | null; strategy: string; because: string; shared_by: string }[];
  reads: string[][] | null;
  group: { key: string; streams: string[]; graphs: string[]; entailment: string[]; widest: number | null; shared_with: string[] };
  plan: PlanNode | null;
  join_order: string[][][] | null;
  rules?: { written: number; run: string[] | null; because?: string; background?: { stated: number; closed: number } };
  live: {
    instant: number | null;
    rows: number;
    elements: (number | null)[];
    micros?: number | null;
    latency_ms?: number | null;
    state_bytes?: number | null;
    late?: number | null;
    nodes?: { instant: number; plan: PlanNode } | null;
  };
}

/** A derivation: `until` is missing where the triple holds for ever; a given triple has no rule. */
export interface Derivation {
  triple: string[];
  until?: number;
  given?: boolean;
  rule?: string;
  text?: string;
  premises?: Derivation[];
}

export interface Why {
  at: number;
  triple: string[];
  holds: boolean;
  why: Derivation | null;
  text: string | null;
}

export interface Point {
  at: number;
  instant: number;
  latency_ms: number | null;
  micros: number;
  instants: number;
  rows: number;
  elements: number;
  late: number;
  state_bytes: number;
}

export interface ElementTold {
  at: number;
  logged: number;
  triple: [string, string, string];
}
