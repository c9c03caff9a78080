// One plot of a chart, drawn by uPlot: lines over instants, in the colours of the page.
//
//     <PlotView plot={plot} at={instants} hidden={hidden} looked={at} onLook={freeze} … />
//
// A press on it looks at the nearest instant; dragging over a part shows it larger, a double press all of it again.

import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { useStore } from "../store";
import { theme } from "../theme";
import { useWidth } from "./measured";
import { hours } from "./scale";
import type { Plot } from "./series";

const HEIGHT: Record<Plot["kind"], number> = { lines: 240, count: 200, truth: 120 };
const COLOURS = 6;
const DRAGGED = 7;

/** A colour of the page as the canvas understands it. */
function colourOf(place: HTMLElement, name: string): string {
  const probe = document.createElement("i");
  probe.style.color = `var(--${name})`;
  place.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

const pale = (colour: string): string => colour.replace(/^rgb\((.*)\)$/, "rgba($1, 0.22)");

export const colourName = (place: number): string => `series-${(place % COLOURS) + 1}`;
const dashed = (place: number): number[] | undefined => (place < COLOURS ? undefined : [6, 4]);

const NUMBER = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 6 });
export const spelled = (value: number | null | undefined): string => (value === null || value === undefined ? "–" : NUMBER.format(value));

interface PlotProps {
  plot: Plot;
  at: readonly number[];
  /** Names of lines that are not drawn. */
  hidden: ReadonlySet<string>;
  looked: number | undefined;
  frozen: boolean;
  sync: string;
  onLook: (at: number) => void;
  onPoint: (place: number | null) => void;
}

export function PlotView(props: PlotProps): JSX.Element {
  const [place, width] = useWidth();
  const chart = useRef<uPlot | null>(null);
  const zoomed = useRef(false);
  const now = useRef(props);
  now.current = props;
  const { plot, at, hidden, looked, frozen } = props;
  const names = plot.lines.map(({ name }) => name).join("\u0001");
  const colours = useStore(theme);
  const data = (): uPlot.AlignedData => [now.current.at as number[], ...now.current.plot.lines.map(({ values }) => values)];
  useLayoutEffect(() => {
    if (!place.current || width <= 0) return;
    const options = optionsOf(place.current, width, now, zoomed);
    zoomed.current = false;
    const made = new uPlot(options, data(), place.current);
    chart.current = made;
    pressed(made, now);
    return () => {
      made.destroy();
      chart.current = null;
    };
  }, [names, plot.kind, colours, width > 0, useDark()]);
  useEffect(() => chart.current?.setSize({ width, height: HEIGHT[plot.kind] }), [width]);
  useEffect(() => {
    const made = chart.current;
    if (!made) return;
    // A part that somebody made larger stays, while they look at it.
    made.setData(data(), !zoomed.current);
    if (zoomed.current) made.redraw(true, false);
    plot.lines.forEach(({ name }, line) => made.series[line + 1]?.show === hidden.has(name) && made.setSeries(line + 1, { show: !hidden.has(name) }));
  }, [at, plot, hidden]);
  useEffect(() => chart.current?.redraw(false, false), [looked, frozen]);
  return <div class="plot" ref={place} data-plot={plot.title} />;
}

/** A press that is not the end of a drag looks at the nearest instant. */
function pressed(chart: uPlot, now: { current: PlotProps }): void {
  let begun = 0;
  chart.over.addEventListener("pointerdown", (event) => (begun = event.clientX));
  chart.over.addEventListener("pointerup", (event) => {
    if (event.button !== 0 || Math.abs(event.clientX - begun) > DRAGGED) return;
    const at = now.current.at[chart.posToIdx(event.clientX - chart.over.getBoundingClientRect().left)];
    if (at !== undefined) now.current.onLook(at);
  });
}

/** Drawn anew also when the system changes from light to dark. */
function useDark(): boolean {
  const dark = useRef(matchMedia("(prefers-color-scheme: dark)")).current;
  return dark.matches;
}

function optionsOf(place: HTMLElement, width: number, now: { current: PlotProps }, zoomed: { current: boolean }): uPlot.Options {
  const { plot, sync } = now.current;
  const ink = colourOf(place, "ink-dim"), line = colourOf(place, "line"), wait = colourOf(place, "wait");
  const font = "12px system-ui, sans-serif";
  const axis: uPlot.Axis = { stroke: ink, font, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1, size: 4 } };
  const stepped = uPlot.paths.stepped?.({ align: 1 });
  const truth = plot.kind === "truth";
  const mark = (chart: uPlot): void => {
    const { looked, frozen } = now.current;
    if (looked === undefined || !frozen) return;
    const x = Math.round(chart.valToPos(looked, "x", true));
    const { left, top, width: wide, height } = chart.bbox;
    if (x < left || x > left + wide) return;
    chart.ctx.save();
    chart.ctx.strokeStyle = wait;
    chart.ctx.lineWidth = 2 * devicePixelRatio;
    chart.ctx.beginPath();
    chart.ctx.moveTo(x, top);
    chart.ctx.lineTo(x, top + height);
    chart.ctx.stroke();
    chart.ctx.restore();
  };
  return {
    width,
    height: HEIGHT[plot.kind],
    ms: 1,
    legend: { show: false },
    padding: [8, 28, 0, 0],
    cursor: {
      sync: { key: sync },
      points: { size: 7 },
      drag: { x: true, y: false, dist: DRAGGED + 1 },
      bind: {
        dblclick: (_, __, handler) => (event) => {
          zoomed.current = false;
          handler(event);
          return null;
        },
      },
    },
    scales: {
      x: { time: true },
      y: truth ? { range: [-0.1, 1.1] } : plot.kind === "count" ? { range: (_, __, most) => [0, Math.max(1, most * 1.05)] } : {},
    },
    axes: [
      { ...axis, size: 30, space: 90, values: (_, splits) => splits.map((split) => hours(Math.round(split))) },
      { ...axis, size: truth ? 44 : 58, values: (_, splits) => (truth ? splits.map((split) => (split === 1 ? "yes" : split === 0 ? "no" : "")) : splits.map(spelled)),
        splits: truth ? () => [0, 1] : undefined },
    ],
    series: [
      {},
      ...plot.lines.map(({ name }, number): uPlot.Series => {
        const colour = colourOf(place, colourName(number));
        const filled = plot.kind !== "lines";
        return {
          label: name, stroke: colour, width: 1.75, dash: dashed(number), show: !now.current.hidden.has(name), spanGaps: false,
          points: { size: 4, fill: colour, stroke: colour }, fill: filled ? pale(colour) : undefined,
          paths: filled ? stepped : undefined,
        };
      }),
    ],
    hooks: { draw: [mark], setSelect: [({ select }) => { if (select.width > 0) zoomed.current = true; }], setCursor: [(chart) => now.current.onPoint(chart.cursor.idx ?? null)] },
  };
}
