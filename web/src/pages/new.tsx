// A new query: written, checked while it is written, registered. What is written stays in this browser until it is.
//
// Begun from a query that is there, under its name, it replaces that one, in the version that was loaded.

import type { JSX } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { call, check, get, Problem, queryPath, SPARQL, sentence } from "../api";
import { Editor } from "../parts/lazy";
import { Field, Page, Wrong } from "../parts/page";
import { notify } from "../parts/notices";
import { vocabulary } from "../prefixes";
import { go, route } from "../route";
import { kept, useStore } from "../store";
import type { Checked, Mistake, QueryInfo } from "../types";
import { EXAMPLES } from "./examples";

const draft = kept<string>("draft", "");

/** The name in a text: REGISTER QUERY name, without the brackets of an IRI. */
const nameIn = (text: string): string =>
  /\bREGISTER\s+(?:QUERY|STREAM|[IDR]STREAM)\s+<?([^\s<>]+)>?/i.exec(text.replace(/^\s*#.*$/gm, ""))?.[1] ?? "";

export function NewQuery(): JSX.Element {
  const { asked } = useStore(route);
  const { streams } = useStore(vocabulary);
  const [text, setText] = useState(draft.read);
  const [given, setGiven] = useState("");
  const [refused, setRefused] = useState<readonly Mistake[]>([]);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [checked, setChecked] = useState<Checked | undefined>(undefined);
  const [busy, setBusy] = useState(false);
  const [loaded, setLoaded] = useState<QueryInfo | undefined>(undefined);
  const written = nameIn(text);
  const name = written || given;
  const match = loaded?.name === name ? loaded.version : undefined;
  const naming = useRef({ name, match });
  naming.current = { name, match };
  const change = useCallback((now: string) => {
    draft.write(now);
    setText(now);
    setRefused([]);
    setProblem(undefined);
  }, []);
  useEffect(() => {
    const { from } = asked;
    setLoaded(undefined);
    if (!from) return;
    get<QueryInfo>(queryPath(from)).then((query) => {
      setLoaded(query);
      change(query.text);
    }, (error) => setProblem(sentence(error)));
  }, [asked.from]);
  const register = async (): Promise<void> => {
    if (busy) return;
    if (!name) return setProblem("The query has no name: write REGISTER QUERY name AS in front, or give it one below.");
    setBusy(true);
    try {
      await call("PUT", queryPath(name), { body: text, type: SPARQL, match });
      draft.write("");
      notify(`${name} is ${match === undefined ? "registered" : "replaced"}.`);
      go(["queries", name]);
    } catch (error) {
      setProblem(sentence(error));
      if (error instanceof Problem) setRefused(error.errors);
    }
    setBusy(false);
  };
  const load = (id: string): void => {
    const example = EXAMPLES.find((one) => one.id === id);
    if (example) change(example.text.replaceAll("STREAM>", `${streams[0] ?? "http://example.org/streams/temperature"}>`));
  };
  return (
    <Page title="New query" acts={
      <select aria-label="Load an example" value="" onChange={(event) => load(event.currentTarget.value)}>
        <option value="" disabled>Load an example…</option>
        {EXAMPLES.map(({ id, title }) => <option key={id} value={id}>{title}</option>)}
      </select>
    }>
      <Editor value={text} onInput={change} label="Text of the query" onSubmit={() => void register()} refused={refused}
        onChecked={setChecked} check={(now, signal) => check(now, "query", naming.current.name, signal, naming.current.match)}
        hint="REGISTER QUERY name AS SELECT … FROM STREAM <…> [RANGE 10s STEP 5s] WHERE { … }" />
      <Wrong text={refused.length ? undefined : problem} />
      {text.trim() && !written && (
        <Field label="Name" hint="The text does not say one.">
          <input value={given} onInput={(event) => setGiven(event.currentTarget.value.trim())} spellcheck={false} autocomplete="off" />
        </Field>
      )}
      <div class="buttons">
        <button type="button" class="primary" disabled={busy || !text.trim()} onClick={() => void register()} title="Ctrl+Enter">{match === undefined ? "Register" : "Replace"}{name && ` ${name}`}</button>
        {text.trim() && <button type="button" onClick={() => change("")}>Clear</button>}
        {checked?.ok && <span class="fine" role="status">Nothing is wrong with it.</span>}
      </div>
    </Page>
  );
}
