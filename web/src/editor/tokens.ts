// The words of C-SPARQL, RSP-QL, rule files and Turtle, for colouring. One walk for all of them: what differs is the
// list of words that mean something.
//
//     spans("FROM STREAM <urn:s> [RANGE 10s]")      // [{ from: 0, to: 4, kind: "clause" }, …]
//
// Colouring never judges: the server does, and says where.

export type Kind =
  | "clause" | "window" | "builtin" | "iri" | "name" | "variable" | "string" | "number" | "duration" | "comment" | "bracket"
  | "operator" | "blank" | "word" | "wrong";

export type Syntax = "query" | "rules" | "turtle";

/** The quotes of a long string that goes on in the next line; empty outside of one. */
export interface Walk {
  open: string;
}

export const CLAUSES =
  `REGISTER QUERY STREAM AS COMPUTE COMPUTED EVERY USING UNDER ENTAILMENT REGIME BASE PREFIX SELECT CONSTRUCT DESCRIBE ASK
  DISTINCT REDUCED FROM NAMED WINDOW ON WHERE GRAPH OPTIONAL UNION MINUS FILTER BIND VALUES SERVICE SILENT EXISTS NOT IN
  GROUP BY HAVING ORDER ASC DESC LIMIT OFFSET UNDEF AGGREGATE ISTREAM RSTREAM DSTREAM`.split(/\s+/);
export const WINDOWS = "RANGE STEP TUMBLING TRIPLES ELEMENTS SLIDE".split(" ");
export const BUILTINS =
  `COUNT SUM AVG MIN MAX SAMPLE GROUP_CONCAT SEPARATOR STR LANG LANGMATCHES DATATYPE BOUND IRI URI BNODE RAND ABS CEIL FLOOR
  ROUND CONCAT STRLEN UCASE LCASE ENCODE_FOR_URI CONTAINS STRSTARTS STRENDS STRBEFORE STRAFTER YEAR MONTH DAY HOURS MINUTES
  SECONDS TIMEZONE TZ NOW UUID STRUUID MD5 SHA1 SHA256 SHA384 SHA512 COALESCE IF STRLANG STRDT SAMETERM ISIRI ISURI ISBLANK
  ISLITERAL ISNUMERIC REGEX SUBSTR REPLACE TIMESTAMP`.split(/\s+/);

const WORDS: Record<Syntax, Map<string, Kind>> = {
  query: new Map<string, Kind>([
    ...BUILTINS.map((word) => [word, "builtin"] as const),
    ...CLAUSES.map((word) => [word, "clause"] as const),
    ...WINDOWS.map((word) => [word, "window"] as const),
    ["TRUE", "number"],
    ["FALSE", "number"],
  ]),
  rules: new Map<string, Kind>(
    `LESSTHAN GREATERTHAN LE GE EQUAL NOTEQUAL SUM DIFFERENCE PRODUCT QUOTIENT MIN MAX NOVALUE ISLITERAL NOTLITERAL ISBNODE
    NOTBNODE ISDTYPE NOTDTYPE BOUND UNBOUND REGEX STRCONCAT URICONCAT MAKETEMP NOW PRINT`.split(/\s+/).map((word) => [word, "builtin"]),
  ),
  turtle: new Map<string, Kind>([["PREFIX", "clause"], ["BASE", "clause"], ["GRAPH", "clause"], ["TRUE", "number"], ["FALSE", "number"]]),
};

const NAME = String.raw`[\p{L}\p{N}_][\p{L}\p{N}_.\-]*`;
const RULES: readonly (readonly [Kind | "quote", RegExp])[] = [
  ["comment", /#.*/uy],
  ["quote", /"""|'''/uy],
  ["string", /"(?:[^"\\]|\\.)*"(?:@[A-Za-z]+(?:-[A-Za-z0-9]+)*)?|'(?:[^'\\]|\\.)*'(?:@[A-Za-z]+(?:-[A-Za-z0-9]+)*)?/uy],
  ["wrong", /"(?:[^"\\]|\\.)*$|'(?:[^'\\]|\\.)*$/uy],
  ["iri", /<[^<>"{}|^`\\\s]*>/uy],
  ["clause", /@(?:prefix|base|include)\b/iuy],
  ["variable", new RegExp(String.raw`[?$]${NAME}`, "uy")],
  ["blank", new RegExp(`_:${NAME}`, "uy")],
  ["duration", /\d+\s*(?:ms|msecs?|milliseconds?|s|secs?|seconds?|mins?|minutes?|m|h|hours?|d|days?)\b|PT?\d[\dTHMSDW.]*/uy],
  ["number", /[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/uy],
  ["name", new RegExp(String.raw`(?:[\p{L}][\p{L}\p{N}_.\-]*)?:(?:[\p{L}\p{N}_:%](?:[\p{L}\p{N}_.\-:%]|\\.)*)?`, "uy")],
  ["word", /[\p{L}_][\p{L}\p{N}_-]*/uy],
  ["operator", /\^\^|->|<-|&&|\|\||[!<>=]=?|[*/+^|?-]/uy],
  ["bracket", /[()[\]{}]/uy],
];

export interface Span {
  from: number;
  to: number;
  kind: Kind;
}

/** The next word of a line, at or behind `from`; undefined at its end. */
export function next(line: string, from: number, walk: Walk, syntax: Syntax): Span | undefined {
  if (walk.open) return longString(line, from, from, walk);
  while (from < line.length && /\s/.test(line[from] ?? "")) from++;
  if (from >= line.length) return undefined;
  for (const [kind, rule] of RULES) {
    rule.lastIndex = from;
    const match = rule.exec(line);
    if (!match) continue;
    const to = from + match[0].length;
    if (kind === "quote") {
      walk.open = match[0];
      return longString(line, from, to, walk);
    }
    if (kind === "name") return { from, to: to - (match[0].endsWith(".") ? 1 : 0), kind };
    if (kind !== "word") return { from, to, kind };
    const meaning = match[0] === "a" ? "clause" : WORDS[syntax].get(match[0].toUpperCase());
    return { from, to, kind: meaning ?? "word" };
  }
  return { from, to: from + 1, kind: "operator" };
}

function longString(line: string, from: number, search: number, walk: Walk): Span {
  const close = line.indexOf(walk.open, search);
  if (close < 0) return { from, to: Math.max(line.length, from), kind: "string" };
  const to = close + 3;
  walk.open = "";
  return { from, to, kind: "string" };
}

/** All words of a text. */
export function spans(text: string, syntax: Syntax = "query"): Span[] {
  const found: Span[] = [];
  const walk: Walk = { open: "" };
  let start = 0;
  for (const line of text.split("\n")) {
    for (let at = 0, span = next(line, at, walk, syntax); span && span.to > at; span = next(line, at, walk, syntax)) {
      found.push({ ...span, from: start + span.from, to: start + span.to });
      at = span.to;
    }
    start += line.length + 1;
  }
  return found;
}
