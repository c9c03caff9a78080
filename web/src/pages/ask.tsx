// Ask once: a question over the background graphs, and over what streams hold now. Nothing is registered.

import type { JSX } from "preact";
import { useCallback, useMemo, useState } from "preact/hooks";
import { call, check, Problem, sentence, SPARQL } from "../api";
import { Code } from "../editor/code";
import { answerOf, type Answer, type Told } from "../events/answer";
import { Editor } from "../parts/lazy";
import { Page, Wrong } from "../parts/page";
import { declared, vocabulary } from "../prefixes";
import { kept, useStore } from "../store";
import { TermView } from "../terms";
import { clock, many } from "../time";
import type { Mistake } from "../types";

const draft = kept<string>("question", "SELECT ?class (COUNT(?thing) AS ?things)\nWHERE { ?thing a ?class }\nGROUP BY ?class\nORDER BY DESC(?things)\n");
const MOST_ROWS = 500;

interface Asked {
  answer?: Answer;
  turtle?: string;
  took: number;
  instant: number | null;
}

export function Ask(): JSX.Element {
  const [text, setText] = useState(draft.read);
  const [asked, setAsked] = useState<Asked | undefined>(undefined);
  const { prefixes: known } = useStore(vocabulary);
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<readonly Mistake[]>([]);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const prefixes = useMemo(() => declared(text), [text]);
  const change = useCallback((now: string) => {
    draft.write(now);
    setText(now);
    setRefused([]);
    setProblem(undefined);
  }, []);
  const ask = async (): Promise<void> => {
    if (busy || !text.trim()) return;
    setBusy(true);
    setProblem(undefined);
    const begun = performance.now();
    try {
      const response = await call("POST", "/sparql", { body: text, type: SPARQL, accept: "application/sparql-results+json, text/turtle;q=0.9" });
      const looked = response.headers.get("X-CSPARQL-Instant");
      const instant = looked === null ? null : Number(looked);
      if (response.headers.get("Content-Type")?.includes("json")) {
        const told = (await response.json()) as Told;
        setAsked({ answer: answerOf({ ...told, at: instant ?? 0 }), took: performance.now() - begun, instant });
      } else setAsked({ turtle: await response.text(), took: performance.now() - begun, instant });
    } catch (error) {
      setAsked(undefined);
      setProblem(sentence(error));
      if (error instanceof Problem) setRefused(error.errors);
    }
    setBusy(false);
  };
  return (
    <Page title="Ask once">
      <p class="quiet">Over the background graphs, and over what streams hold now: <code>FROM STREAM &lt;…&gt; [RANGE 5m]</code>. Nothing is registered.</p>
      <Editor value={text} onInput={change} label="Question" onSubmit={() => void ask()} refused={refused}
        check={(now, signal) => check(now, "question", "", signal)} />
      <Wrong text={refused.length ? undefined : problem} />
      <div class="buttons">
        <button type="button" class="primary" disabled={busy || !text.trim()} onClick={() => void ask()} title="Ctrl+Enter">{busy ? "Asking…" : "Ask"}</button>
        {asked && <span class="quiet" role="status">
          {asked.answer ? many(asked.answer.rows.length, "row") : "a graph"} in {Math.max(1, Math.round(asked.took))} ms{asked.instant !== null && `, as of ${clock(asked.instant)}`}
        </span>}
      </div>
      {asked?.turtle !== undefined && <Code text={asked.turtle} syntax="turtle" label="Answer as Turtle" prefixes={{ ...known, ...prefixes }} />}
      {asked?.answer && (
        <div class="table-wrap">
          <table class="live">
            <caption class="hidden">Answer</caption>
            <thead><tr>{asked.answer.variables.map((name) => <th scope="col" key={name}>?{name}</th>)}</tr></thead>
            <tbody>
              {asked.answer.rows.slice(0, MOST_ROWS).map((row, place) => (
                <tr key={place}>{row.terms.map((term, column) => <td key={column}><TermView term={term} prefixes={prefixes} /></td>)}</tr>
              ))}
              {asked.answer.rows.length === 0 && <tr><td class="quiet" colSpan={Math.max(1, asked.answer.variables.length)}>No rows.</td></tr>}
            </tbody>
          </table>
          {asked.answer.rows.length > MOST_ROWS && <p class="quiet">Shown are the first {MOST_ROWS} rows: add a LIMIT, or ask for CSV with curl.</p>}
        </div>
      )}
    </Page>
  );
}
