// What a query costs: how fast it answers, how long it takes, how much it holds; the newest 300 batches.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, queryPath } from "../api";
import { Wrong } from "../parts/page";
import { usePolled } from "../store";
import { clock, count, many } from "../time";
import { useLast } from "./measured";
import type { PanelProps } from "./panels";
import { bytes } from "./plan";
import { Sparkline } from "./sparkline";
import type { Point } from "./told";

const LOOKING = 2000;

interface Measure {
  id: keyof Point;
  title: string;
  tells: string;
  spell: (value: number) => string;
}

const milliseconds = (value: number): string => (value < 10 ? `${value.toFixed(1)} ms` : value < 10_000 ? `${count(Math.round(value))} ms` : `${(value / 1000).toFixed(1)} s`);

const MEASURES: readonly Measure[] = [
  { id: "latency_ms", title: "Latency", tells: "from when an instant could be answered until it was", spell: milliseconds },
  { id: "micros", title: "Evaluation", tells: "of all instants of a batch", spell: (value) => (value < 1000 ? `${value} µs` : milliseconds(value / 1000)) },
  { id: "rows", title: "Rows", tells: "of the newest answer", spell: count },
  { id: "elements", title: "In the windows", tells: "triples that were seen", spell: count },
  { id: "late", title: "Late", tells: "elements that came too late, since the registration", spell: count },
  { id: "state_bytes", title: "Held", tells: "memory for the query", spell: bytes },
];

export default function Metrics({ query }: PanelProps): JSX.Element {
  const { value, problem } = usePolled((signal) => get<{ points: Point[] }>(`${queryPath(query.name)}/measures`, signal), LOOKING, [query.name]);
  const points = useLast(value)?.points;
  const [pointed, setPointed] = useState<number | null>(null);
  if (!points) return problem ? <Wrong text={problem} /> : <p class="quiet">Asking…</p>;
  if (!points.length) return <div class="empty"><p>Nothing is measured yet: that begins with the first answer.</p></div>;
  const place = pointed === null || pointed >= points.length ? points.length - 1 : pointed;
  return (
    <>
      <Wrong text={problem} />
      <p class="quiet">{many(points.length, "batch", "batches")} since {clock(Math.round((points[0]?.at ?? 0) / 1000) * 1000)}{pointed !== null && ` · at ${clock(points[place]?.at ?? 0)}`}</p>
      <div class="cards">
        {MEASURES.map((measure) => <Card key={measure.id} measure={measure} points={points} place={place} onPoint={setPointed} />)}
      </div>
    </>
  );
}

function Card({ measure: { id, title, tells, spell }, points, place, onPoint }: { measure: Measure; points: readonly Point[]; place: number; onPoint: (place: number | null) => void }): JSX.Element {
  const samples = points.map((point) => ({ at: point.at, value: point[id] }));
  const known = samples.flatMap(({ value }) => (value === null ? [] : [value]));
  const value = samples[place]?.value ?? null;
  return (
    <section class="card" aria-label={title} data-measure={id}>
      <h2>{title}</h2>
      <p class="big">{value === null ? "–" : spell(value)}</p>
      <Sparkline samples={samples} onPoint={onPoint} />
      <p class="quiet range">{known.length ? `${spell(Math.min(...known))} – ${spell(Math.max(...known))}` : "not known"}</p>
      <p class="quiet tells">{tells}</p>
    </section>
  );
}
