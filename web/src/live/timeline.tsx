// The timeline of a query: what came, what its windows saw, and what it waits for. It answers "why are there no results?".

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { get, queryPath } from "../api";
import { Instant } from "../parts/instant";
import { Wrong } from "../parts/page";
import { declared, type Prefixes } from "../prefixes";
import { route, say } from "../route";
import { usePolled, useStore } from "../store";
import { Iri } from "../terms";
import { many } from "../time";
import type { QueryInfo } from "../types";
import { useLast } from "./measured";
import { WhatIsMissing } from "./missing";
import type { PanelProps } from "./panels";
import { Strip } from "./strip";
import type { Bounds, Timeline } from "./told";
import { ShortInstant, Words } from "./words";

const LOOKING = 1500;
const STILL = 15_000;
const LONGEST = 31 * 86_400_000;
const SPANS: Readonly<Record<string, number>> = { "30s": 30_000, "2m": 120_000, "10m": 600_000, "1h": 3_600_000 };

/** As much as is worth seeing: three windows, or a window and some steps. */
function usual({ windows }: QueryInfo): number {
  const widest = Math.max(0, ...windows.map(({ range }) => range ?? 0)) || 60_000;
  const step = Math.max(0, ...windows.map(({ step }) => step ?? 0)) || 1000;
  return Math.min(LONGEST, Math.max(3 * widest, widest + 10 * step));
}

/** What is told of a span that ends now; or, if the instant that is looked at was before, of one that reaches back to it. */
async function lookedAt(name: string, span: number, frozen: number | null, signal: AbortSignal): Promise<Timeline> {
  const ask = (milliseconds: number): Promise<Timeline> =>
    get<Timeline>(`${queryPath(name)}/timeline?span=${Math.ceil(Math.min(LONGEST, milliseconds))}ms`, signal);
  const told = await ask(span);
  return frozen === null || frozen - 0.6 * span >= told.from ? told : ask(told.to - frozen + span);
}

/** From when until when it is drawn. */
function viewOf(told: Timeline, span: number, frozen: number | null): { from: number; to: number } {
  if (told.to - told.from > 1.01 * span && frozen !== null) return { from: frozen - 0.7 * span, to: frozen + 0.3 * span };
  const ends = [told.to, told.next?.at ?? -Infinity, ...told.streams.map(({ reading }) => reading ?? -Infinity)];
  const to = Math.min(Math.max(...ends), told.to + 0.3 * span) + 0.04 * span;
  // Before the newest stamp there may be instants that are still to be answered.
  const from = told.next && told.next.at < told.from ? Math.max(told.next.at - 0.3 * span, told.from - 0.3 * span) : told.from;
  return { from, to };
}

export default function TimelinePanel({ query, shown }: PanelProps): JSX.Element {
  const prefixes = useMemo(() => declared(query.text), [query.text]);
  const asked = useStore(route).asked.span ?? "";
  const chosen = asked in SPANS ? asked : "auto";
  const span = SPANS[chosen] ?? usual(query);
  const { frozen } = shown;
  const [pointed, setPointed] = useState<number | null>(null);
  const { value, problem } = usePolled((signal) => lookedAt(query.name, span, frozen, signal), frozen === null ? LOOKING : STILL, [query.name, span, frozen]);
  const told = useLast(value);
  // Following, it is the newest instant that the timeline itself knows of: events may be a moment ahead of it.
  const looked = frozen ?? told?.instants.at(-1)?.at ?? shown.answer?.at;
  const rows = shown.answer && shown.answer.at === looked ? shown.answer.rows.length : told?.instants.find(({ at }) => at === looked)?.rows;
  return (
    <>
      <div class="timeline-head">
        <p class="says">{told ? <Words text={told.says} prefixes={prefixes} /> : "Asking…"}</p>
        <div class="choices" role="group" aria-label="How much is shown">
          {["auto", ...Object.keys(SPANS)].map((choice) => (
            <button type="button" key={choice} class={choice === chosen ? "on" : undefined} aria-pressed={choice === chosen}
              onClick={() => say({ span: choice === "auto" ? null : choice })}>{choice}</button>
          ))}
        </div>
      </div>
      <Wrong text={problem} />
      {told && (
        <>
          <Strip told={told} {...viewOf(told, span, frozen)} looked={looked} pointed={pointed} onPoint={setPointed} onLook={shown.freeze} prefixes={prefixes} />
          <ReadOut told={told} at={pointed ?? looked} looked={looked} frozen={frozen !== null} prefixes={prefixes} onLook={shown.freeze} />
          <Key told={told} />
        </>
      )}
      {looked !== undefined && rows === 0 && <WhatIsMissing name={query.name} at={looked} prefixes={prefixes} />}
    </>
  );
}

function ReadOut({ told, at, looked, frozen, prefixes, onLook }: {
  told: Timeline; at: number | undefined; looked: number | undefined; frozen: boolean; prefixes: Prefixes; onLook: (at: number) => void;
}): JSX.Element {
  const instant = told.instants.find((one) => one.at === at);
  const windows = instant?.windows ?? (at === told.next?.at ? told.next?.windows : undefined) ?? [];
  if (at === undefined) return <p class="read-out quiet">No instant is answered yet.</p>;
  return (
    <div class="read-out">
      <p>
        <strong>{at === told.next?.at ? "The next instant" : at === looked ? "The instant looked at" : "The instant"} <Instant at={at} /></strong>{" "}
        {at === told.next?.at ? "is not answered yet." : instant ? <span class={instant.rows ? undefined : "none"}>has {instant.rows ? many(instant.rows, "row") : "no rows"}.</span> : ""}{" "}
        {instant && !(frozen && at === looked) && <button type="button" class="link" onClick={() => onLook(at)}>{at === looked ? "Freeze it" : "Look at it"}</button>}
      </p>
      {windows.map((bounds, place) => <p key={place}><Seen bounds={bounds} at={at} told={told} prefixes={prefixes} /></p>)}
    </div>
  );
}

function Seen({ bounds, at, told, prefixes }: { bounds: Bounds; at: number; told: Timeline; prefixes: Prefixes }): JSX.Element {
  const { stream, opens, closes } = bounds;
  const dots = told.streams.find((lane) => lane.stream === stream)?.elements ?? [];
  const inside = dots.filter((dot) => (opens === null || dot.to > opens) && dot.from <= (closes ?? at));
  const sum = (of: typeof dots): number => of.reduce((total, { triples }) => total + triples, 0);
  const late = sum(inside.filter((dot) => dot.late));
  const known = opens === null || opens >= told.from;
  return (
    <>
      {bounds.name ? <>{bounds.name} on </> : "Window on "}<Iri iri={stream} prefixes={prefixes} />: {opens === null ? "reaches back as far as it counts" : <>opens after <ShortInstant at={opens} /></>}, closes <ShortInstant at={closes ?? at} />
      {known && opens !== null && <> · {many(sum(inside), "triple")} stamped in it{late > 0 && <span class="none">, {late} of them late</span>}</>}
    </>
  );
}

function Key({ told }: { told: Timeline }): JSX.Element {
  const late = told.streams.some(({ elements }) => elements.some((dot) => dot.late));
  const clocks = told.streams.some(({ clock, reading }) => clock !== "arrival" && reading !== null);
  const mark = (name: string, drawing: JSX.Element): JSX.Element => <li key={name}><svg width="20" height="12" aria-hidden="true">{drawing}</svg>{name}</li>;
  return (
    <ul class="key strip-key" aria-label="What the signs mean">
      {mark("elements", <circle class="dot-mark" cx="10" cy="6" r="4" />)}
      {late && mark("late elements", <circle class="dot-mark late" cx="10" cy="6" r="4" />)}
      {mark("window looked at", <g class="bracket looked"><path class="mark" d="M2 3v6h16v-6" /></g>)}
      {told.next && mark("next window", <g class="bracket next"><path class="mark" d="M2 3v6h16v-6" /></g>)}
      {clocks && mark("the stream's clock", <g class="clock-line"><line x1="10" x2="10" y1="0" y2="12" /><path d="M6 0h8l-4 6z" /></g>)}
      {mark("rows at an instant", <g class="instant"><rect x="7" y="2" width="6" height="10" /></g>)}
      {mark("no rows", <g class="instant none"><circle cx="10" cy="6" r="4" /></g>)}
    </ul>
  );
}
