// The chart of a query: its numbers over instants, without anybody having to ask for it.

import type { JSX } from "preact";
import { useCallback, useMemo, useState } from "preact/hooks";
import { clock, count, many } from "../time";
import { declared } from "../prefixes";
import { useHistory } from "./history";
import type { PanelProps } from "./panels";
import { colourName, PlotView, spelled } from "./plot";
import { Charting, MOST_LINES } from "./series";

export default function Chart({ query, shown }: PanelProps): JSX.Element {
  const prefixes = useMemo(() => declared(query.text), [query.text]);
  const { held } = shown.feed;
  useHistory(query, shown.feed);
  // Frozen, the chart goes no further than the newest instant that was known then.
  const [most, setMost] = useState<number | null>(null);
  const newest = held.answer?.at ?? null;
  if (shown.frozen !== null && most === null && newest !== null) setMost(Math.max(newest, shown.frozen));
  if (shown.frozen === null && most !== null) setMost(null);
  const charting = useMemo(() => new Charting(prefixes), [prefixes]);
  const { at, plots, names, more, mean } = useMemo(() => charting.charted(held, most ?? Infinity), [charting, held, most]);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [pointed, setPointed] = useState<number | null>(null);
  const point = useCallback((place: number | null) => setPointed(place), []);
  const looked = shown.answer?.at;
  if (!at.length) return <div class="empty"><p>No answer yet: the chart begins with the first one.</p></div>;
  const last = looked === undefined ? -1 : at.indexOf(looked);
  const place = pointed ?? (last >= 0 ? last : at.length - 1);
  const toggle = (name: string): void => {
    const next = new Set(hidden);
    if (!next.delete(name)) next.add(name);
    setHidden(next);
  };
  const heard = most === null ? 0 : held.steps.filter((step) => step.at > most).length;
  return (
    <div class="chart" data-points={at.length} data-lines={names.length}>
      <p class="chart-says quiet">
        {many(at.length, "instant")} from {clock(at[0] ?? 0)} to {clock(at.at(-1) ?? 0)}
        {mean && " · where rows have the same group, their mean"}
        {more > 0 && ` · the ${MOST_LINES} groups seen most often, ${count(more)} more are left out`}
        {heard > 0 && <strong class="frozen"> · held, {many(heard, "newer instant")}</strong>}
      </p>
      {plots.map((plot) => (
        <figure key={plot.title} aria-label={`${plot.title} of ${many(names.length, "group")} over ${many(at.length, "instant")}`}>
          <figcaption>{plot.kind === "count" ? `how many ${plot.title}` : plot.kind === "truth" ? "yes or no" : plot.title}</figcaption>
          <PlotView plot={plot} at={at} hidden={hidden} looked={looked} frozen={shown.frozen !== null} sync={query.name} onLook={shown.freeze} onPoint={point} />
        </figure>
      ))}
      <div class="legend" role="group" aria-label={`Lines, with their values at ${clock(at[place] ?? 0)}`}>
        <span class="legend-at">{clock(at[place] ?? 0)}</span>
        {names.map((name, number) => (
          <button type="button" key={name} class="plain" aria-pressed={!hidden.has(name)} onClick={() => toggle(name)} title={hidden.has(name) ? "Show" : "Hide"}>
            <i class={number < 6 ? "swatch" : "swatch dashed"} style={{ "--of": `var(--${colourName(number)})` }} />
            <span>{name}</span>
            <b>{plots.map(({ kind, lines }) => {
              const value = lines[number]?.values[place];
              return kind === "truth" ? (value ? "yes" : "no") : spelled(value);
            }).join(" · ")}</b>
          </button>
        ))}
      </div>
    </div>
  );
}
