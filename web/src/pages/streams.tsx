// The streams: on which clock they are, how much is kept of them, when something last came.

import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { call, get, mayNot, session, streamPath } from "../api";
import { FORGOTTEN } from "../live/elements";
import { Dialog } from "../parts/dialog";
import { Ago } from "../parts/instant";
import { act } from "../parts/notices";
import { Empty, Field, Page, Wrong } from "../parts/page";
import { go, href } from "../route";
import { usePolled, useStore } from "../store";
import { count, length } from "../time";
import type { StreamInfo } from "../types";

const LOOKING = 3000;
const MOST_DESCRIBED = 50;

interface Seen {
  triples: number;
  at: number;
}

/** Triples a second between two looks; of a stream whose log was shortened meanwhile nothing is said. */
function rateOf(before: Seen | undefined, now: Seen): number | undefined {
  if (!before || now.at <= before.at || now.triples < before.triples) return undefined;
  return ((now.triples - before.triples) / (now.at - before.at)) * 1000;
}

export const rate = (perSecond: number | undefined): string =>
  perSecond === undefined ? "–" : perSecond === 0 ? "0/s" : perSecond < 10 ? `${perSecond.toFixed(1)}/s` : `${count(Math.round(perSecond))}/s`;

export function Streams(): JSX.Element {
  const seen = useRef(new Map<string, Seen>());
  const rates = useRef(new Map<string, number | undefined>());
  const who = useStore(session);
  const [making, setMaking] = useState(false);
  const { value: streams, problem } = usePolled(async (signal) => {
    const { streams: all } = await get<{ streams: StreamInfo[] }>("/streams", signal);
    const described = await Promise.all(all.slice(0, MOST_DESCRIBED).map(({ name }) => get<StreamInfo>(streamPath(name), signal)));
    for (const { iri, kept } of described) {
      const now = { triples: kept?.triples ?? 0, at: performance.now() };
      rates.current.set(iri, rateOf(seen.current.get(iri), now));
      seen.current.set(iri, now);
    }
    return [...described, ...all.slice(MOST_DESCRIBED)];
  }, LOOKING, []);
  return (
    <Page title="Streams" acts={mayNot("register", who) ? undefined : <button type="button" class="primary" onClick={() => setMaking(true)}>New stream</button>}>
      <Wrong text={problem} />
      {streams && streams.length > 0 && (
        <div class="table-wrap">
          <table class="list">
            <thead><tr><th scope="col">Name</th><th scope="col">Clock</th><th scope="col" class="wide number">Triples kept</th><th scope="col" class="number">Rate</th><th scope="col">Last push</th></tr></thead>
            <tbody>
              {streams.map((stream) => (
                <tr key={stream.iri}>
                  <th scope="row"><a href={href(["streams", stream.name])} title={stream.iri}>{stream.name}</a></th>
                  <td>{stream.clock}{stream.delay > 0 && <span class="quiet">, delay {length(stream.delay)}</span>}</td>
                  <td class="wide number">{stream.kept ? count(stream.kept.triples) : "–"}</td>
                  <td class="number">{rate(rates.current.get(stream.iri))}</td>
                  <td>{stream.newest ? <Ago at={stream.newest.at} /> : <span class="quiet" title={stream.forgotten ? FORGOTTEN : undefined}>{stream.forgotten ? "kept no longer" : stream.kept ? "never" : "–"}</span>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {streams?.length === 0 && <Empty><p>There is no stream yet.</p><p class="quiet">A stream takes triples as they come; queries look at it through windows.</p></Empty>}
      {making && <NewStream onClose={() => setMaking(false)} />}
    </Page>
  );
}

function NewStream({ onClose }: { onClose: () => void }): JSX.Element {
  const [name, setName] = useState("");
  const [clock, setClock] = useState("arrival");
  const [delay, setDelay] = useState("0s");
  const make = async (event: Event): Promise<void> => {
    event.preventDefault();
    const body = JSON.stringify(clock === "event" ? { clock, delay } : { clock });
    if (await act(() => call("PUT", streamPath(name), { body, type: "application/json" }), `The stream ${name} is there.`)) {
      onClose();
      go(["streams", name]);
    }
  };
  return (
    <Dialog title="New stream" onClose={onClose}>
      <form onSubmit={(event) => void make(event)}>
        <Field label="Name" hint="Letters, digits and _ . ~ -, or a whole IRI.">
          <input value={name} onInput={(event) => setName(event.currentTarget.value.trim())} required autofocus spellcheck={false} />
        </Field>
        <Field label="Clock" hint={clock === "event" ? "Producers say when something happened." : "What comes is stamped when it comes."}>
          <select value={clock} onChange={(event) => setClock(event.currentTarget.value)}><option value="arrival">arrival</option><option value="event">event</option></select>
        </Field>
        {clock === "event" && <Field label="Delay" hint="How late a timestamp may be: 0s, 500ms, 1m."><input value={delay} onInput={(event) => setDelay(event.currentTarget.value.trim())} pattern="0*|.*[^0-9].*" title="A number with its unit: 2s, 500ms, 1m." required /></Field>}
        <div class="buttons">
          <button type="button" onClick={onClose}>Cancel</button>
          <button type="submit" class="primary" disabled={!name}>Create</button>
        </div>
      </form>
    </Dialog>
  );
}
