// The strip of a timeline: a lane for each stream with its elements as dots and its windows as brackets under them, the
// instants below, and lines for the clocks and for now.
//
//     <Strip told={timeline} from={from} to={to} looked={at} pointed={null} onPoint={…} onLook={…} prefixes={prefixes} />
//
// It is one stop of the keyboard: arrows go from instant to instant, Enter looks at one.

import type { JSX, TargetedKeyboardEvent, TargetedPointerEvent } from "preact";
import { shortened, vocabulary, type Prefixes } from "../prefixes";
import { useStore } from "../store";
import { clock, exact, length, many } from "../time";
import { bracketsOf, stacked, type Placed } from "./brackets";
import { useWidth } from "./measured";
import { hours, roundTimes, scaleOf, type Scale } from "./scale";
import type { Dot, Lane, Timeline } from "./told";

const NAME = 20, DOTS = 22, LATE = 14, ROW = 9, GAP = 12, INSTANTS = 34, TIMES = 18;
const MOST_ROWS = 7;
const NEAR = 16;

interface StripProps {
  told: Timeline;
  from: number;
  to: number;
  looked: number | undefined;
  pointed: number | null;
  onPoint: (at: number | null) => void;
  onLook: (at: number) => void;
  prefixes: Prefixes;
}

export function Strip(props: StripProps): JSX.Element {
  const [place, width] = useWidth();
  const { told, pointed, looked, onPoint, onLook } = props;
  const ats = [...told.instants.map(({ at }) => at), ...(told.next ? [told.next.at] : [])];
  const current = ats.indexOf(pointed ?? looked ?? NaN);
  const move = (event: TargetedKeyboardEvent<HTMLDivElement>): void => {
    const { key } = event;
    if (key === "ArrowLeft" || key === "ArrowRight") onPoint(ats[Math.min(ats.length - 1, Math.max(0, current + (key === "ArrowLeft" ? -1 : 1)))] ?? null);
    else if (key === "Home") onPoint(ats[0] ?? null);
    else if (key === "End") onPoint(ats.at(-1) ?? null);
    else if (key === "Enter" && pointed !== null && pointed !== told.next?.at) onLook(pointed);
    else if (key === "Escape") onPoint(null);
    else return;
    event.preventDefault();
  };
  const at = ats[current];
  const rows = told.instants.find((instant) => instant.at === at)?.rows;
  return (
    <div class="strip" ref={place} tabIndex={0} role="slider" aria-label={`Timeline of ${told.query}: its instants`} onKeyDown={move}
      aria-valuemin={0} aria-valuemax={Math.max(0, ats.length - 1)} aria-valuenow={Math.max(0, current)}
      aria-valuetext={at === undefined ? "no instant" : `${clock(at)}, ${rows === undefined ? "not answered yet" : many(rows, "row")}`}>
      {width > 0 && <Drawn {...props} scale={scaleOf(props.from, props.to, width)} />}
    </div>
  );
}

function Drawn({ told, looked, pointed, onPoint, onLook, prefixes, scale }: StripProps & { scale: Scale }): JSX.Element {
  const { prefixes: known } = useStore(vocabulary);
  let y = 0;
  const lanes = told.streams.map((lane) => {
    const { placed, left } = stacked(bracketsOf(told, lane.stream, looked), MOST_ROWS);
    const late = lane.elements.some((dot) => dot.late);
    const rows = Math.max(1, ...placed.map(({ row }) => row + 1));
    const top = y;
    const under = top + NAME + DOTS + (late ? LATE : 0);
    y = under + rows * ROW + GAP;
    // Dots that are many are small, so that each can be seen.
    const large = Math.max(2.4, Math.min(7, (0.45 * (lane.elements.length > 1 ? (lane.elements.at(-1)?.to ?? 0) - (lane.elements[0]?.from ?? 0) : Infinity)) / scale.per / lane.elements.length));
    return { lane, placed, left, top, under, large, bottom: y };
  });
  const axis = y + 4;
  const height = axis + INSTANTS + TIMES;
  const most = Math.max(1, ...told.streams.flatMap(({ elements }) => elements.map(({ triples }) => triples)));
  const inside = (at: number): boolean => at >= scale.from && at <= scale.to;
  const look = (at: number): void => { if (at !== told.next?.at) onLook(at); };
  return (
    <svg width={scale.width} height={height} aria-hidden="true" onPointerLeave={() => onPoint(null)}>
      {[pointed, looked].map((at, place) => at !== null && at !== undefined && inside(at) && (
        <line key={place} class={place ? "guide looked" : "guide"} x1={scale.x(at)} x2={scale.x(at)} y1={NAME} y2={axis} />
      ))}
      {lanes.map(({ lane, placed, left, top, under, large, bottom }) => (
        <g key={lane.stream} class="lane" data-stream={lane.stream}>
          <text class="lane-name" x="0" y={top + 14}>
            {shortened(lane.stream, prefixes, known) ?? tail(lane.stream)}
            <tspan class="dim" dx="8">{lane.clock} clock{lane.delay > 0 && `, delay ${length(lane.delay)}`}{left > 0 && ` · ${many(left, "window")} not drawn`}</tspan>
          </text>
          <line class="base" x1="0" x2={scale.width} y1={top + NAME + DOTS / 2} y2={top + NAME + DOTS / 2} />
          {lane.elements.map((dot) => dot.to >= scale.from && dot.from <= scale.to && (
            <DotDrawn key={`${dot.from} ${dot.late}`} dot={dot} scale={scale} most={most} large={large} y={top + NAME + DOTS / 2 + (dot.late ? LATE + 2 : 0)} />
          ))}
          {placed.map((bracket) => bracket.closes >= scale.from && bracket.opens <= scale.to && (
            <BracketDrawn key={`${bracket.at} ${bracket.name}`} bracket={bracket} scale={scale} y={under + bracket.row * ROW} pointed={bracket.at === pointed}
              onPoint={() => onPoint(bracket.at)} onLook={() => look(bracket.at)} />
          ))}
          <ClockLine lane={lane} scale={scale} top={top + NAME - 2} bottom={bottom - GAP / 2} />
        </g>
      ))}
      {inside(told.now) && (
        <g class="now"><line x1={scale.x(told.now)} x2={scale.x(told.now)} y1={NAME} y2={axis + INSTANTS} />
          <text x={Math.min(scale.x(told.now), scale.width - 14)} y={axis - 1} text-anchor="middle">now</text></g>
      )}
      <Instants told={told} scale={scale} y={axis} looked={looked} pointed={pointed} />
      {roundTimes(scale, 110).map((at) => (
        <text key={at} class="time" x={Math.min(scale.width - 28, Math.max(28, scale.x(at)))} y={height - 4} text-anchor="middle">{hours(at)}</text>
      ))}
      <rect class="catch" x="0" y={axis} width={scale.width} height={INSTANTS}
        onPointerMove={(event) => onPoint(nearest(told, scale, event))}
        onClick={(event) => { const at = nearest(told, scale, event); if (at !== null) look(at); }} />
    </svg>
  );
}

const tail = (iri: string): string => iri.split(/[/#]/).filter(Boolean).at(-1) ?? iri;

function nearest(told: Timeline, scale: Scale, event: TargetedPointerEvent<SVGRectElement> | MouseEvent): number | null {
  const here = event.clientX - (event.currentTarget as Element).getBoundingClientRect().left;
  let best: number | null = null;
  for (const { at } of [...told.instants, ...(told.next ? [told.next] : [])])
    if (Math.abs(scale.x(at) - here) < Math.min(NEAR, best === null ? NEAR : Math.abs(scale.x(best) - here))) best = at;
  return best;
}

function DotDrawn({ dot, scale, most, large, y }: { dot: Dot; scale: Scale; most: number; large: number; y: number }): JSX.Element {
  const radius = Math.max(dot.late ? 3 : 2, large * (0.3 + 0.7 * Math.sqrt(dot.triples / most)));
  const [left, right] = [scale.x(Math.max(dot.from, scale.from)), scale.x(Math.min(dot.to, scale.to))];
  return (
    <rect class={dot.late ? "dot-mark late" : "dot-mark"} x={left - radius} y={y - radius} width={right - left + 2 * radius} height={2 * radius} rx={radius}>
      <title>{`${many(dot.triples, "triple")}${dot.late ? ", late: the clock had passed" : ""}, ${exact(dot.from)}${dot.to > dot.from ? ` to ${exact(dot.to)}` : ""}`}</title>
    </rect>
  );
}

function BracketDrawn({ bracket, scale, y, pointed, onPoint, onLook }: {
  bracket: Placed; scale: Scale; y: number; pointed: boolean; onPoint: () => void; onLook: () => void;
}): JSX.Element {
  const begins = bracket.opens >= scale.from, ends = bracket.closes <= scale.to;
  const left = begins ? scale.x(bracket.opens) + 1 : 0, right = ends ? scale.x(bracket.closes) - 1 : scale.width;
  const path = `M${left} ${y}${begins ? "v5" : "m0 5"}H${right}${ends ? "v-5" : ""}`;
  return (
    <g class={`bracket ${bracket.kind}${pointed ? " pointed" : ""}`} onPointerEnter={onPoint} onClick={onLook}>
      <path class="catch" d={`M${left} ${y + 3}H${right}`} />
      <path class="mark" d={path} />
      {bracket.name && right - left > 80 && <text x={left + 5} y={y + 3}>{bracket.name}</text>}
    </g>
  );
}

function ClockLine({ lane, scale, top, bottom }: { lane: Lane; scale: Scale; top: number; bottom: number }): JSX.Element | null {
  if (lane.reading === null || lane.clock === "arrival" || lane.reading < scale.from || lane.reading > scale.to) return null;
  const x = scale.x(lane.reading);
  return (
    <g class="clock-line">
      <line x1={x} x2={x} y1={top} y2={bottom} />
      <path d={`M${x - 4} ${top}h8l-4 6z`} />
      <title>{`The clock of the stream reads ${exact(lane.reading)}`}</title>
    </g>
  );
}

function Instants({ told, scale, y, looked, pointed }: { told: Timeline; scale: Scale; y: number; looked: number | undefined; pointed: number | null }): JSX.Element {
  const shown = told.instants.filter(({ at }) => at >= scale.from && at <= scale.to);
  const most = Math.max(1, ...shown.map(({ rows }) => rows));
  const [first, last] = [shown[0], shown.at(-1)];
  const apart = first && last && shown.length > 1 ? (last.at - first.at) / (shown.length - 1) / scale.per : scale.width;
  const base = y + INSTANTS - 4;
  return (
    <g class="instants">
      <line class="axis" x1="0" x2={scale.width} y1={base} y2={base} />
      {shown.map(({ at, rows }) => {
        const x = scale.x(at), here = at === looked || at === pointed;
        const tall = 4 + 10 * (rows / most);
        const wide = Math.max(2, Math.min(7, apart - 2));
        return (
          <g key={at} class={`instant${rows === 0 ? " none" : ""}${at === looked ? " looked" : ""}`} data-at={at} data-rows={rows}>
            {rows === 0
              ? <circle cx={x} cy={base - 5} r={Math.min(4, wide / 2 + 1)} />
              : <rect x={x - wide / 2} y={base - tall} width={wide} height={tall} />}
            {(apart >= 26 || here) && <text x={x} y={base - (rows === 0 ? 12 : tall + 3)} text-anchor="middle">{rows}</text>}
          </g>
        );
      })}
      {told.next && told.next.at >= scale.from && told.next.at <= scale.to && (
        <g class="instant next"><rect x={scale.x(told.next.at) - 3} y={base - 9} width="6" height="9" /></g>
      )}
    </g>
  );
}
