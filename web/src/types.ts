// What the server tells, as TypeScript sees it. Only what the console reads is named; see docs/http.md for all of it.

export type Status = "running" | "paused" | "failed";

export interface WindowInfo {
  stream: string;
  name?: string;
  range?: number;
  step?: number;
  triples?: number;
  triples_step?: number;
  elements?: number;
  elements_step?: number;
}

export interface QueryInfo {
  name: string;
  id: number;
  /** Another one when the query is replaced. */
  version: number;
  url: string;
  answers: string;
  text: string;
  registered: number;
  kind: "query" | "stream" | null;
  form: "SELECT" | "CONSTRUCT" | "DESCRIBE" | "ASK" | null;
  output: "RSTREAM" | "ISTREAM" | "DSTREAM" | null;
  every: number | null;
  streams: string[];
  windows: WindowInfo[];
  graphs: string[];
  named_graphs: string[];
  entailment: string[];
  warnings: string[];
  stream: string | null;
  status: Status;
  failure: { at: number; reason: string; advice: string } | null;
  oldest: number | null;
  latest: number | null;
}

export interface StreamInfo {
  iri: string;
  name: string;
  url: string;
  clock: "arrival" | "event" | "derived";
  delay: number;
  producer: string | null;
  created: number;
  /** Only told of one stream, not in the list. */
  kept?: { chunks: number; triples: number };
  newest?: { seq: number; at: number; first: number | null; last: number | null; triples: number } | null;
  /** More has come than is kept. */
  forgotten?: boolean;
  queries?: string[];
}

export interface Pushed {
  accepted: number;
  seq: number | null;
  at: number | null;
  warnings: { code: string; message: string }[];
}

export interface GraphInfo {
  iri: string;
  url: string;
  triples: number;
  changed: number;
}

export interface RulesInfo {
  name: string;
  url: string;
  built_in: boolean;
  rules: number;
  changed: number | null;
}

export interface Health {
  status: "ok" | "starting" | "behind" | "degraded";
  engine: { state: string; position: number; behind: number; lag_ms: number };
  log: { tail: number };
  queries: number;
  streams: number;
  subscribers: number;
  kernel: { runs: "compiled" | "numpy"; reason?: string };
  preparing?: { queries: string[] }[];
  damaged?: { reason: string }[];
  damages?: number;
}

export interface Session {
  secured: boolean;
  scopes: string[];
}

/** A replacement of some characters of a text; lines and columns count from 1, in code points. */
export interface Fix {
  label: string;
  line: number;
  column: number;
  endLine: number;
  endColumn: number;
  text: string;
}

export interface Mistake {
  line: number;
  column: number;
  endLine?: number;
  endColumn?: number;
  message: string;
  hint?: string | null;
  code?: string;
  fix?: Fix | null;
}

export interface Checked {
  ok: boolean;
  kind?: string | null;
  name?: string | null;
  form?: string | null;
  streams?: string[];
  windows?: WindowInfo[];
  rules?: number;
  warnings: { line?: number; column?: number; message: string }[];
  errors: Mistake[];
}

export interface Vocabulary {
  prefixes: Record<string, string>;
  streams: string[];
  graphs: string[];
  rules: string[];
  properties: { iri: string; count?: number }[];
  classes: { iri: string; count?: number }[];
  keywords: string[];
}

/** A term, as SPARQL 1.1 Query Results JSON writes it. */
export interface Term {
  type: "uri" | "literal" | "bnode";
  value: string;
  datatype?: string;
  "xml:lang"?: string;
}
