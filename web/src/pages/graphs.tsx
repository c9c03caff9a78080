// The background graphs: what is known besides the streams.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { call, get, graphPath, mayNot, Problem, sentence, session, text as textOf } from "../api";
import { Code } from "../editor/code";
import { rangeText } from "../editor/pointing";
import { sure } from "../parts/dialog";
import { Ago } from "../parts/instant";
import { Editor } from "../parts/lazy";
import { act, notify } from "../parts/notices";
import { Empty, Field, Page, Wrong } from "../parts/page";
import { lookAtVocabulary, vocabulary } from "../prefixes";
import { go, href, route } from "../route";
import { usePolled, useStore } from "../store";
import { Iri } from "../terms";
import { count } from "../time";
import type { GraphInfo, Mistake } from "../types";

const LOOKING = 5000;
const LONGEST_SHOWN = 200_000;
const TYPES: Record<string, string> = {
  ttl: "text/turtle", nt: "application/n-triples", jsonld: "application/ld+json", rdf: "application/rdf+xml", xml: "application/rdf+xml",
};

export function Graphs(): JSX.Element {
  const who = useStore(session);
  const { asked } = useStore(route);
  const { value, problem, again } = usePolled((signal) => get<{ graphs: GraphInfo[] }>("/graphs", signal), LOOKING, []);
  const graphs = value?.graphs;
  const writing = asked.write !== undefined;
  if (writing) return <Write iri={asked.graph ?? ""} onDone={again} />;
  return (
    <Page title="Graphs" acts={mayNot("register", who) ? undefined : <a class="button primary" href={href(["graphs"], { write: "new" })}>New graph</a>}>
      <Wrong text={problem} />
      {graphs && graphs.length > 0 && (
        <div class="table-wrap">
          <table class="list">
            <thead><tr><th scope="col">Graph</th><th scope="col" class="number">Triples</th><th scope="col">Changed</th></tr></thead>
            <tbody>
              {graphs.map((graph) => (
                <tr key={graph.iri} aria-selected={graph.iri === asked.graph}>
                  <th scope="row"><a href={href(["graphs"], { graph: graph.iri })}><Iri iri={graph.iri} short={graph.iri} /></a></th>
                  <td class="number">{count(graph.triples)}</td>
                  <td><Ago at={graph.changed} /></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {graphs?.length === 0 && <Empty><p>There is no background graph yet.</p><p class="quiet">Queries join what streams say with what graphs know: <code>FROM &lt;graph&gt;</code>.</p></Empty>}
      {asked.graph && <Shown key={asked.graph} iri={asked.graph} changed={graphs?.find(({ iri }) => iri === asked.graph)?.changed} again={again} />}
    </Page>
  );
}

function Shown({ iri, changed, again }: { iri: string; changed: number | undefined; again: () => void }): JSX.Element {
  const who = useStore(session);
  const { prefixes } = useStore(vocabulary);
  const [turtle, setTurtle] = useState<string | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  useEffect(() => {
    const ended = new AbortController();
    setProblem(undefined);
    textOf(graphPath(iri), "text/turtle", ended.signal).then(setTurtle, (error) => ended.signal.aborted || setProblem(sentence(error)));
    return () => ended.abort();
  }, [iri, changed]);
  const remove = async (): Promise<void> => {
    if (!(await sure("Delete the graph?", `${iri} is forgotten. A graph that a query reads stays.`, "Delete"))) return;
    if (await act(() => call("DELETE", graphPath(iri)), "The graph is deleted.")) {
      go(["graphs"]);
      again();
    }
  };
  return (
    <section aria-label={iri}>
      <div class="section-head">
        <h2 class="iri-title">{iri}</h2>
        <div class="buttons">
          <a class="button" href={graphPath(iri)} download>Download</a>
          {!mayNot("register", who) && <a class="button" href={href(["graphs"], { graph: iri, write: "replace" })}>Replace or add</a>}
          {!mayNot("register", who) && <button type="button" class="danger" onClick={() => void remove()}>Delete</button>}
        </div>
      </div>
      <Wrong text={problem} />
      {turtle !== undefined && <Code text={turtle.slice(0, LONGEST_SHOWN)} syntax="turtle" label={`${iri} as Turtle`} prefixes={prefixes} />}
      {turtle !== undefined && turtle.length > LONGEST_SHOWN && <p class="quiet">Shown are the first {count(LONGEST_SHOWN)} characters: download it for the rest.</p>}
    </section>
  );
}

function Write({ iri: given, onDone }: { iri: string; onDone: () => void }): JSX.Element {
  const [iri, setIri] = useState(given);
  const [type, setType] = useState("text/turtle");
  const [text, setText] = useState("");
  const [file, setFile] = useState<File | undefined>(undefined);
  const [refused, setRefused] = useState<readonly Mistake[]>([]);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const choose = (chosen: File | undefined): void => {
    setFile(chosen);
    setType(TYPES[chosen?.name.split(".").pop()?.toLowerCase() ?? ""] ?? type);
  };
  const send = async (method: "PUT" | "POST"): Promise<void> => {
    setProblem(undefined);
    setRefused([]);
    try {
      await call(method, graphPath(iri), { body: file ?? text, type });
      notify(method === "PUT" ? "The graph is set." : "The graph has this, too.");
      void lookAtVocabulary();
      onDone();
      go(["graphs"], { graph: iri });
    } catch (error) {
      setProblem(sentence(error));
      if (error instanceof Problem && !file) setRefused(error.errors.map(rangeText));
    }
  };
  const empty = !iri || !(file || text.trim());
  return (
    <Page title={given ? "Replace or add to a graph" : "New graph"} acts={<a class="button" href={href(["graphs"], { graph: given || null })}>Cancel</a>}>
      <Field label="IRI of the graph"><input type="url" value={iri} onInput={(event) => setIri(event.currentTarget.value.trim())} placeholder="http://example.org/graphs/building" spellcheck={false} /></Field>
      <div class="fields">
        <Field label="Format">
          <select value={type} onChange={(event) => setType(event.currentTarget.value)}>
            <option value="text/turtle">Turtle</option><option value="application/n-triples">N-Triples</option>
            <option value="application/ld+json">JSON-LD</option><option value="application/rdf+xml">RDF/XML</option>
          </select>
        </Field>
        <Field label="From a file"><input type="file" accept=".ttl,.nt,.jsonld,.rdf,.xml" onChange={(event) => choose(event.currentTarget.files?.[0])} /></Field>
      </div>
      {!file && <Editor value={text} onInput={setText} syntax="turtle" label="Triples of the graph" refused={refused} hint="Triples, in the format above" onSubmit={() => void send("PUT")} />}
      <Wrong text={refused.length ? undefined : problem} />
      <div class="buttons">
        <button type="button" class="primary" disabled={empty} onClick={() => void send("PUT")}>{given ? "Replace" : "Create"}</button>
        {given && <button type="button" disabled={empty} onClick={() => void send("POST")}>Add</button>}
      </div>
    </Page>
  );
}
