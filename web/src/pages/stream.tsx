// One stream: its clock, what came last, who reads it, and a box to push something into it.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { call, get, mayNot, Problem, session, streamPath } from "../api";
import { rangeText } from "../editor/pointing";
import { Elements } from "../live/elements";
import { sure } from "../parts/dialog";
import { Ago, Instant } from "../parts/instant";
import { act, notify } from "../parts/notices";
import { Editor } from "../parts/lazy";
import { Empty, Field, Page, Wrong } from "../parts/page";
import { go, href } from "../route";
import { usePolled, useStore } from "../store";
import { Iri } from "../terms";
import { about, count, length, many } from "../time";
import type { Mistake, Pushed, StreamInfo } from "../types";

const LOOKING = 2000;
const RECORDED = 3_600_000; // so old is nothing that a producer only held back

interface Format {
  type: string;
  title: string;
  example: (stamp: string) => string;
}

const FORMATS: readonly Format[] = [
  { type: "text/turtle", title: "Turtle", example: () => `@prefix s: <http://example.org/sensors#> .
[] a s:Reading ; s:madeIn <http://example.org/rooms/lab> ; s:celsius 21.5 .
` },
  { type: "application/trig", title: "TriG, with timestamps", example: (stamp) => `@prefix s: <http://example.org/sensors#> .
<urn:t:${stamp}> {
  [] a s:Reading ; s:madeIn <http://example.org/rooms/lab> ; s:celsius 21.5 .
}
` },
  { type: "application/n-triples", title: "N-Triples", example: () => `<http://example.org/rooms/lab> <http://example.org/sensors#celsius> "21.5"^^<http://www.w3.org/2001/XMLSchema#decimal> .
` },
  { type: "application/n-quads", title: "N-Quads, with timestamps", example: (stamp) => `<http://example.org/rooms/lab> <http://example.org/sensors#celsius> "21.5"^^<http://www.w3.org/2001/XMLSchema#decimal> <urn:t:${stamp}> .
` },
  { type: "application/ld+json", title: "JSON-LD", example: () => `{
  "@id": "http://example.org/rooms/lab",
  "http://example.org/sensors#celsius": 21.5
}
` },
];

export function Stream({ name }: { name: string }): JSX.Element {
  const who = useStore(session);
  const { value: stream, problem, again } = usePolled(async (signal) => {
    try {
      return await get<StreamInfo>(streamPath(name), signal);
    } catch (error) {
      if (error instanceof Problem && error.status === 404) return null;
      throw error;
    }
  }, LOOKING, [name]);
  if (stream === null) return <Page title={name}><Empty><p>There is no stream {name}.</p><p><a href={href(["streams"])}>To the streams</a></p></Empty></Page>;
  if (!stream) return <Page title={name}><Wrong text={problem} /><p class="quiet">Loading…</p></Page>;
  const past = stream.clock === "event" && stream.newest?.last != null ? stream.newest.at - stream.newest.last : 0;
  const remove = async (): Promise<void> => {
    if (!(await sure(`Delete the stream ${stream.name}?`, "What it holds is forgotten. A stream that a query reads stays.", "Delete"))) return;
    if (await act(() => call("DELETE", streamPath(stream.name)), `${stream.name} is deleted.`)) go(["streams"]);
  };
  return (
    <Page title={stream.name} acts={stream.producer === null && !mayNot("register", who) && <button type="button" class="danger" onClick={() => void remove()}>Delete</button>}>
      <Wrong text={problem} />
      <dl class="facts-list">
        <div><dt>IRI</dt><dd><Iri iri={stream.iri} short={stream.iri} /></dd></div>
        <div><dt>Clock</dt><dd>{stream.clock}{stream.clock === "event" && `, delay ${length(stream.delay)}`}
          {stream.producer && <> from <a href={href(["queries", stream.producer])}>{stream.producer}</a></>}</dd></div>
        <div><dt>Kept</dt><dd>{many(stream.kept?.triples ?? 0, "triple")} in {many(stream.kept?.chunks ?? 0, "push", "pushes")}</dd></div>
        <div><dt>Last push</dt><dd>{stream.newest ? <><Ago at={stream.newest.at} />, {many(stream.newest.triples, "triple")}
          {stream.newest.last !== null && <> up to <Instant at={stream.newest.last} /></>}</> : stream.forgotten ? "kept no longer" : "never"}</dd></div>
        <div><dt>Read by</dt><dd>{stream.queries?.length ? stream.queries.map((query, place) => <span key={query}>{place > 0 && ", "}<a href={href(["queries", query])}>{query}</a></span>) : "no query"}</dd></div>
      </dl>
      {past > RECORDED && (
        <p class="quiet" data-testid="past">
          What came last is stamped {about(past)} before it came: a recorded past. Windows go by the stamps, so each instant that these pass is
          answered as they come, one after the other; of each query the newest are kept (keep-answers).
        </p>
      )}
      <Elements stream={stream} />
      {stream.producer === null && !mayNot("push", who) && <PushBox stream={stream} onPushed={again} />}
    </Page>
  );
}

function PushBox({ stream, onPushed }: { stream: StreamInfo; onPushed: () => void }): JSX.Element {
  const [format, setFormat] = useState<Format>(() => FORMATS[stream.clock === "event" ? 1 : 0] as Format);
  const [text, setText] = useState("");
  const [refused, setRefused] = useState<readonly Mistake[]>([]);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const change = (now: string): void => {
    setText(now);
    setRefused([]);
    setProblem(undefined);
  };
  const push = async (): Promise<void> => {
    try {
      const response = await call("POST", streamPath(stream.name), { body: text, type: format.type });
      const { accepted, warnings } = (await response.json()) as Pushed;
      notify(`${many(accepted, "triple")} ${accepted === 1 ? "is" : "are"} in the stream.`);
      for (const { message } of warnings) notify(message, true);
      onPushed();
    } catch (error) {
      if (error instanceof Problem) setRefused(error.errors.map((mistake) => rangeText(mistake)));
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <section aria-label="Push">
      <div class="section-head">
        <h2>Push</h2>
        <div class="buttons">
          <Field label="Format">
            <select value={format.type} onChange={(event) => setFormat(FORMATS.find(({ type }) => type === event.currentTarget.value) ?? format)}>
              {FORMATS.map(({ type, title }) => <option key={type} value={type}>{title}</option>)}
            </select>
          </Field>
          <button type="button" onClick={() => change(format.example(String(Date.now())))}>Example</button>
        </div>
      </div>
      <Editor value={text} onInput={change} syntax="turtle" label="What to push" refused={refused} onSubmit={() => void push()} hint="Triples, in the format above" />
      <Wrong text={refused.length ? undefined : problem} />
      <div class="buttons">
        <button type="button" class="primary" disabled={!text.trim()} onClick={() => void push()} title="Ctrl+Enter">Push</button>
        {text.length > 4096 && <span class="quiet">{count(text.length)} characters</span>}
      </div>
    </section>
  );
}
