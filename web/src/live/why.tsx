// Why a triple holds at the instant that is looked at: chosen from the answer, from what a row was made of, or written.

import type { JSX, TargetedSubmitEvent } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { get, queryPath, sentence } from "../api";
import type { Answer } from "../events/answer";
import { Instant } from "../parts/instant";
import { Wrong } from "../parts/page";
import { declared, vocabulary, type Prefixes } from "../prefixes";
import { route, say } from "../route";
import { usePolled, useStore } from "../store";
import { brief, whole } from "../terms";
import type { QueryInfo, Term } from "../types";
import { written } from "./asked";
import { DerivationTree, TripleView } from "./derivation";
import { lookedFor, offered, type Terms } from "./madefrom";
import { useLast } from "./measured";
import type { PanelProps } from "./panels";
import { wordsOf } from "./patterns";
import { boundBy } from "./template";
import type { Explained, Why } from "./told";

const ONCE = 2_000_000_000;
const MOST_OPTIONS = 500;

export default function WhyPanel({ query, shown }: PanelProps): JSX.Element {
  const prefixes = useMemo(() => declared(query.text), [query.text]);
  const { asked } = useStore(route);
  const { answer } = shown;
  const row = asked.row === undefined ? null : Number(asked.row);
  const chosen = row !== null && answer?.kind === "table" ? answer.rows.at(row) : undefined;
  if (!answer) return shown.problem ? <Wrong text={shown.problem} /> : <div class="empty"><p>No answer yet, so there is nothing to explain.</p></div>;
  // A triple that a CONSTRUCT made is no fact by itself: what it was made from is.
  const made = answer.kind === "graph" && asked.made !== undefined ? [...answer.rows].find(({ terms: parts }) => written(parts) === asked.made) : undefined;
  const terms: Terms | undefined = made ? boundBy(query.text, made.terms as Term[], prefixes) : chosen && Object.fromEntries(answer.variables.map((name, place) => [name, chosen.terms[place]]));
  return (
    <div class="why">
      <Choice answer={answer} row={row} made={asked.made} triple={asked.triple} prefixes={prefixes} />
      {made && <p>The query makes <TripleView triple={made.terms.map((term) => (term ? whole(term) : ""))} prefixes={prefixes} /> at <Instant at={answer.at} />.</p>}
      {terms && <MadeFrom query={query} at={answer.at} terms={terms} triple={asked.triple} prefixes={prefixes} />}
      {asked.triple
        ? <Told name={query.name} at={answer.at} triple={asked.triple} made={asked.made === asked.triple} prefixes={prefixes} />
        : !terms && <p class="quiet">Choose {answer.kind === "graph" ? "a triple" : "a row"} of the answer, or write a triple: it is told which rule it comes from, from what, and until when it holds.</p>}
    </div>
  );
}

function Choice({ answer, row, made, triple, prefixes }: { answer: Answer; row: number | null; made: string | undefined; triple: string | undefined; prefixes: Prefixes }): JSX.Element {
  const { prefixes: known } = useStore(vocabulary);
  const [text, setText] = useState(triple ?? "");
  useEffect(() => setText(triple ?? ""), [triple]);
  const graph = answer.kind === "graph";
  const options = answer.rows.slice(0, MOST_OPTIONS).map(({ terms }, place) => ({
    value: graph ? written(terms) : String(place),
    text: terms.map((term) => brief(term, prefixes) || "–").join(graph ? " " : " · "),
  }));
  const ask = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    say({ triple: expanded(text.trim(), prefixes, known) || null });
  };
  const choose = (value: string): void =>
    graph ? say({ at: value ? answer.at : null, made: value || null, triple: value || null, row: null }) : say({ at: value ? answer.at : null, row: value || null, triple: null });
  const current = graph ? (made ?? "") : row === null ? "" : String(row);
  return (
    <div class="why-choice">
      {answer.kind !== "truth" && (
        <label class="field">
          <span>{graph ? "A triple" : "A row"} of the answer at <Instant at={answer.at} /></span>
          <select value={options.some(({ value }) => value === current) ? current : ""} onChange={(event) => choose(event.currentTarget.value)}>
            <option value="">{options.length ? `choose one of ${options.length}` : "it has none"}</option>
            {options.map(({ value, text: label }) => <option key={value} value={value}>{label}</option>)}
          </select>
        </label>
      )}
      <form class="field" onSubmit={ask}>
        <label for="why-triple">{answer.kind === "truth" ? "A triple" : "Or any triple"}</label>
        <div class="why-ask">
          <input id="why-triple" value={text} onInput={(event) => setText(event.currentTarget.value)} spellcheck={false} autocomplete="off"
            placeholder="<subject> <property> <object>, or with prefixes" />
          <button type="submit" disabled={!text.trim()}>Why?</button>
        </div>
      </form>
    </div>
  );
}

/** Prefixed names written out; `a` stays, the server knows it. */
function expanded(text: string, ...known: Prefixes[]): string {
  return text.replace(/<[^>]*>|"(?:[^"\\]|\\.)*"|_:\S+|([\p{L}][\p{L}\p{N}_.-]*|):([\p{L}\p{N}_][^\s,;]*)/gu, (word, prefix?: string, local?: string) => {
    const start = local === undefined ? undefined : known.map((prefixes) => prefixes[prefix ?? ""]).find(Boolean);
    return start === undefined ? word : `<${start}${local}>`;
  });
}

function MadeFrom({ query, at, terms, triple, prefixes }: { query: QueryInfo; at: number; terms: Terms; triple: string | undefined; prefixes: Prefixes }): JSX.Element {
  const { value: explained, problem } = usePolled((signal) => get<Explained>(`${queryPath(query.name)}/explain`, signal), ONCE, [query.name]);
  const key = JSON.stringify(terms);
  const { sure, open } = useMemo(() => offered(explained?.reads ?? null, terms), [explained, key]);
  const [more, setMore] = useState<{ of: string; triples: readonly string[]; problem?: string }>({ of: "", triples: [] });
  useEffect(() => {
    if (!open.length) return;
    const ended = new AbortController();
    lookedFor(query, open, terms, ended.signal)
      .then((triples) => setMore({ of: key, triples }))
      .catch((error: unknown) => { if (!ended.signal.aborted) setMore({ of: key, triples: [], problem: sentence(error) }); });
    return () => ended.abort();
  }, [open, key]);
  if (problem) return <Wrong text={problem} />;
  if (!explained) return <p class="quiet">Looking for what it is made from…</p>;
  const found = more.of === key ? more.triples.filter((one) => !sure.includes(one)) : [];
  const looking = open.length > 0 && more.of !== key;
  return (
    <section class="made-from" aria-label="What it is made from">
      {sure.length > 0 && <><h2>Made from</h2><Offers triples={sure} at={at} chosen={triple} prefixes={prefixes} /></>}
      {found.length > 0 && <><h2>{sure.length ? "And perhaps from" : "Perhaps made from"} <small class="quiet">(from what the streams hold now)</small></h2><Offers triples={found} at={at} chosen={triple} prefixes={prefixes} /></>}
      {looking && <p class="quiet">Looking for what fits in the streams…</p>}
      {more.of === key && <Wrong text={more.problem} />}
      {!looking && !sure.length && !found.length && (
        <p class="quiet">{explained.reads === null ? "The query may look at any triple, so it cannot be told which ones it is made from." : "The patterns of the query cannot be filled from this alone."} Write the triple instead.</p>
      )}
    </section>
  );
}

function Offers({ triples, at, chosen, prefixes }: { triples: readonly string[]; at: number; chosen: string | undefined; prefixes: Prefixes }): JSX.Element {
  return (
    <ul class="offers">
      {triples.map((text) => (
        <li key={text}><button type="button" class={text === chosen ? "on" : undefined} aria-pressed={text === chosen} onClick={() => say({ at, triple: text })}>
          <TripleView triple={wordsOf(text)} prefixes={prefixes} />
        </button></li>
      ))}
    </ul>
  );
}

function Told({ name, at, triple, made, prefixes }: { name: string; at: number; triple: string; made: boolean; prefixes: Prefixes }): JSX.Element {
  const asked = new URLSearchParams({ triple, at: String(at) });
  const { value, problem } = usePolled((signal) => get<Why>(`${queryPath(name)}/why?${asked}`, signal), ONCE, [name, triple, at]);
  const last = useLast(value);
  if (problem) return <Wrong text={problem} />;
  if (!last) return <p class="quiet">Asking…</p>;
  if (!last.holds && made) return <p class="quiet">It is the query that makes it: it was not in the windows or the background, and no rule makes it.</p>;
  return (
    <section aria-label="Why" class="derivation">
      <h2>{last.holds ? "It holds" : "It does not hold"} <span class="quiet">at <Instant at={last.at} /></span></h2>
      {last.why
        ? <DerivationTree derivation={last.why} at={last.at} prefixes={prefixes} />
        : <p><TripleView triple={last.triple} prefixes={prefixes} /> was neither in the windows nor in the background, and no rule makes it.</p>}
    </section>
  );
}
