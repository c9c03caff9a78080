// Terms, as people read them: prefixed names, plain literals, and the whole term for whoever asks.
//
//     <TermView term={{ type: "uri", value: "http://example.org/rooms/lab" }} prefixes={declared(query.text)} />
//
// The whole term is in the title; and what is selected and copied is copied whole, not as it is shortened.

import type { JSX } from "preact";
import { shortened, vocabulary, type Prefixes } from "./prefixes";
import { useStore } from "./store";
import type { Term } from "./types";

const XSD = "http://www.w3.org/2001/XMLSchema#";
const PLAIN = new Set(["string", "integer", "decimal", "double", "float", "boolean"].map((name) => XSD + name));
const NUMERIC = new Set(
  ["integer", "decimal", "double", "float", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger",
    "unsignedInt", "unsignedLong", "negativeInteger", "nonPositiveInteger", "unsignedShort", "unsignedByte"]
    .map((name) => XSD + name),
);

const escaped = (value: string): string =>
  value.replace(/[\\"\n\r\t]/g, (sign) => ({ "\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t" })[sign] ?? sign);

/** The term in N-Triples syntax: what identifies it, and what is copied. */
export function whole(term: Term): string {
  if (term.type === "uri") return `<${term.value}>`;
  if (term.type === "bnode") return `_:${term.value}`;
  const quoted = `"${escaped(term.value)}"`;
  if (term["xml:lang"]) return `${quoted}@${term["xml:lang"]}`;
  return term.datatype && term.datatype !== `${XSD}string` ? `${quoted}^^<${term.datatype}>` : quoted;
}

/** The number that a literal stands for; undefined if it stands for none. */
export function numberOf(term: Term | undefined): number | undefined {
  if (term?.type !== "literal" || !term.datatype || !NUMERIC.has(term.datatype)) return undefined;
  const number = Number(term.value === "INF" ? "Infinity" : term.value === "-INF" ? "-Infinity" : term.value);
  return Number.isFinite(number) ? number : undefined;
}

/** The term as short as can be, as text. */
export function brief(term: Term | undefined, prefixes: Prefixes = {}): string {
  if (!term) return "";
  if (term.type === "uri") return shortened(term.value, prefixes, vocabulary.value.prefixes) ?? term.value;
  if (term.type === "bnode") return `_:${term.value}`;
  return term.value;
}

export function TermView({ term, prefixes = {} }: { term: Term | undefined; prefixes?: Prefixes }): JSX.Element | null {
  const { prefixes: known } = useStore(vocabulary);
  if (!term) return <span class="unbound" title="no value">–</span>;
  const full = whole(term);
  if (term.type === "uri") return <Iri iri={term.value} short={shortened(term.value, prefixes, known)} />;
  if (term.type === "bnode") return <span class="term blank" data-full={full} title={`${full} (a blank node)`}>_:{tail(term.value)}</span>;
  const kind = term["xml:lang"] ? `@${term["xml:lang"]}` : !term.datatype || PLAIN.has(term.datatype) ? "" : typeName(term.datatype, prefixes, known);
  return (
    <span class={numberOf(term) === undefined ? "term literal" : "term number"} data-full={term.value} title={full}>
      {term.value}
      {kind && <small class="kind">{kind}</small>}
    </span>
  );
}

/** An IRI; where it has no short name it may be wrapped after each part. */
export function Iri({ iri, short, prefixes = {} }: { iri: string; short?: string | undefined; prefixes?: Prefixes }): JSX.Element {
  const { prefixes: known } = useStore(vocabulary);
  const name = short ?? shortened(iri, prefixes, known);
  return (
    <span class="term iri" data-full={iri} title={`<${iri}>`}>
      {name ?? iri.split(/(?<=[/#:?&=])/).flatMap((part, place) => (place ? [<wbr />, part] : [part]))}
    </span>
  );
}

const tail = (label: string): string => (label.length > 12 ? `…${label.slice(-8)}` : label);
const typeName = (iri: string, ...known: Prefixes[]): string =>
  iri.startsWith(XSD) ? iri.slice(XSD.length) : (shortened(iri, ...known) ?? `<${iri}>`);

/** From now on terms are copied whole. */
export function copyWhole(): void {
  document.addEventListener("copy", (event) => {
    const selection = getSelection();
    if (!selection?.rangeCount || selection.isCollapsed || !event.clipboardData) return;
    const range = selection.getRangeAt(0);
    const inside = range.commonAncestorContainer;
    if ((inside instanceof Element ? inside : inside.parentElement)?.closest(".cm-editor, input, textarea")) return;
    const selected = range.cloneContents();
    const terms = selected.querySelectorAll<HTMLElement>("[data-full]");
    if (!terms.length) return;
    for (const term of terms) term.textContent = term.dataset.full ?? term.textContent;
    const cells = [...selected.querySelectorAll("tr")].map((row) => [...row.children].map((cell) => cell.textContent).join("\t"));
    event.clipboardData.setData("text/plain", cells.length ? cells.join("\n") : (selected.textContent ?? ""));
    event.preventDefault();
  });
}
