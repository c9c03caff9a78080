// What could be written here: keywords by where the cursor is, prefixes (with their declaration), streams, graphs, rule
// sets, properties and classes that were seen in the data, variables of the text.

import { snippetCompletion, type Completion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import type { EditorView } from "@codemirror/view";
import { declared, shortened, vocabulary } from "../prefixes";
import { BUILTINS, spans } from "./tokens";

const keyword = (label: string, boost = 0): Completion => ({ label, type: "keyword", boost });
const words = (text: string, boost = 0): Completion[] => text.split(" ").map((word) => keyword(word.replaceAll("_", " "), boost));

const BEGINNING = [
  ...words("PREFIX BASE REGISTER_QUERY REGISTER_STREAM SELECT CONSTRUCT DESCRIBE ASK"),
  snippetCompletion(
    "REGISTER QUERY ${Name} AS\nSELECT ${?s ?o}\nFROM STREAM <${stream}> [RANGE ${10s} STEP ${5s}]\nWHERE { ${?s ?p ?o} }",
    { label: "REGISTER QUERY … AS SELECT", type: "text", detail: "a whole query", boost: 2 },
  ),
];
const HEAD = words("AS COMPUTE_EVERY USING_ENTAILMENT SELECT CONSTRUCT ASK DESCRIBE DISTINCT ISTREAM DSTREAM RSTREAM FROM FROM_STREAM FROM_NAMED FROM_NAMED_WINDOW WHERE");
const PATTERN = words("FILTER OPTIONAL UNION MINUS BIND VALUES GRAPH WINDOW EXISTS NOT_EXISTS SELECT DISTINCT IN");
const TAIL = words("GROUP_BY HAVING ORDER_BY ASC DESC LIMIT OFFSET VALUES AGGREGATE");
const WINDOW = words("RANGE STEP TUMBLING RANGE_TRIPLES ELEMENTS");
const FUNCTIONS = BUILTINS.map((label): Completion => ({ label, type: "function", apply: `${label}(`, boost: -5 }));
const REGIMES = ["rdfs", "rho-df"];

/** Insert a name, and the declaration of its prefix where the text has none. */
function inserting(name: string, prefix: string, iri: string): Completion["apply"] {
  return (view: EditorView, _completion, from, to) => {
    const known = Object.hasOwn(declared(view.state.doc.toString()), prefix);
    const changes = [{ from, to, insert: name }];
    const line = `PREFIX ${prefix}: <${iri}>\n`;
    const start = known ? 0 : placeOfPrefix(view.state.doc.toString());
    if (!known) changes.unshift({ from: start, to: start, insert: line });
    view.dispatch({ changes, selection: { anchor: from + name.length + (known ? 0 : line.length) }, userEvent: "input.complete" });
  };
}

/** Where a declaration belongs: before the first line that is neither empty nor a comment. */
export function placeOfPrefix(text: string): number {
  let place = 0;
  for (const line of text.split("\n")) {
    if (line.trim() && !line.trim().startsWith("#")) break;
    place += line.length + 1;
  }
  return Math.min(place, text.length);
}

const known = (text: string): Record<string, string> => ({ ...vocabulary.value.prefixes, ...declared(text) });

/** Properties and classes under their short names, those that were seen most often first. */
function seen(text: string): Completion[] {
  const prefixes = known(text);
  const { properties, classes } = vocabulary.value;
  return ([["property", properties], ["class", classes]] as const).flatMap(([type, list]) =>
    list.map(({ iri, count }, place): Completion => {
      const short = shortened(iri, prefixes);
      const prefix = short?.slice(0, short.indexOf(":"));
      return {
        label: short ?? `<${iri}>`,
        type,
        detail: count === undefined ? type : `${type}, seen ${count}×`,
        info: short ? iri : undefined,
        boost: 10 - place / 10,
        apply: short && prefix !== undefined ? inserting(short, prefix, prefixes[prefix] ?? "") : `<${iri}>`,
      };
    }));
}

function prefixed(text: string): Completion[] {
  return Object.entries(known(text)).map(([prefix, iri]) => ({
    label: `${prefix}:`,
    detail: iri,
    type: "namespace",
    boost: -1,
    apply: inserting(`${prefix}:`, prefix, iri),
  }));
}

const iris = (list: readonly string[], type: string): Completion[] => list.map((iri) => ({ label: `<${iri}>`, type, boost: 20 }));

export function complete(context: CompletionContext): CompletionResult | null {
  const text = context.state.doc.toString();
  const variable = context.matchBefore(/[?$][\p{L}\p{N}_]*/u);
  if (variable) {
    const names = new Set(spans(text).filter(({ kind, to }) => kind === "variable" && to !== context.pos).map(({ from, to }) => text.slice(from, to)));
    return { from: variable.from, options: [...names].sort().map((label) => ({ label, type: "variable" })), validFor: /^[?$][\p{L}\p{N}_]*$/u };
  }
  const word = context.matchBefore(/<[^\s<>]*|[\p{L}_][\p{L}\p{N}_-]*(?::[\p{L}\p{N}_.-]*)?|:[\p{L}\p{N}_.-]*/u);
  if (!word && !context.explicit && !/(?:STREAM|ON|FROM|NAMED|ENTAILMENT|PREFIX)\s$/i.test(text.slice(0, context.pos))) return null;
  const from = word?.from ?? context.pos;
  const within = spans(text).find((span) => span.from < from && from < span.to);
  if (within?.kind === "comment" || within?.kind === "string") return null;
  const options = optionsAt(text, from);
  return options.length ? { from, options, validFor: /^(?:<[^\s<>]*|[\p{L}\p{N}_-]*(?::[\p{L}\p{N}_.-]*)?)$/u } : null;
}

function withoutComments(text: string): string {
  let kept = "";
  let end = 0;
  for (const { from, to } of spans(text).filter(({ kind }) => kind === "comment")) {
    kept += text.slice(end, from);
    end = to;
  }
  return kept + text.slice(end);
}

function optionsAt(text: string, from: number): Completion[] {
  const { streams, graphs, rules } = vocabulary.value;
  const before = withoutComments(text.slice(0, from));
  if (/\bPREFIX\s+$/i.test(before))
    return Object.entries(vocabulary.value.prefixes).map(([prefix, iri]) => ({ label: `${prefix}:`, detail: iri, apply: `${prefix}: <${iri}>`, type: "namespace" }));
  if (/\b(?:FROM\s+STREAM|ON)\s+$/i.test(before)) return iris(streams, "stream");
  if (/\bFROM\s+NAMED\s+$/i.test(before)) return [...iris(graphs, "graph"), keyword("WINDOW")];
  if (/\bFROM\s+$/i.test(before)) return [keyword("STREAM", 9), keyword("NAMED WINDOW", 8), keyword("NAMED"), ...iris(graphs, "graph")];
  if (/\bENTAILMENT\s+(?:[^\s,]+\s*,\s*)*$/i.test(before)) return [...new Set([...rules, ...REGIMES])].map((label) => ({ label, type: "rules" }));
  const marks = spans(before).filter(({ kind }) => kind === "bracket").map(({ from: at }) => before[at]);
  const depth = (open: string, close: string): number => marks.filter((mark) => mark === open).length - marks.filter((mark) => mark === close).length;
  if (depth("[", "]") > 0 && /\[\s*(?:RANGE|STEP|ELEMENTS)?[^\]?:<]*$/i.test(before)) return WINDOW;
  const names = [...seen(text), ...prefixed(text)];
  if (depth("{", "}") > 0) return [...names, ...PATTERN, ...FUNCTIONS];
  if (marks.includes("{") || marks.includes("}")) return [...TAIL, ...FUNCTIONS];
  return /\b(?:SELECT|CONSTRUCT|ASK|DESCRIBE|REGISTER)\b/i.test(before) ? [...HEAD, ...FUNCTIONS, ...prefixed(text)] : BEGINNING;
}
