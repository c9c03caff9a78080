// A line as wide as its place: how a number went. What it was at a point is told when somebody points there.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useWidth } from "./measured";

const HEIGHT = 44;

export interface Sample {
  at: number;
  value: number | null;
}

export function Sparkline({ samples, onPoint }: { samples: readonly Sample[]; onPoint: (place: number | null) => void }): JSX.Element {
  const [place, width] = useWidth();
  const [pointed, setPointed] = useState<number | null>(null);
  const known = samples.flatMap(({ value }) => (value === null ? [] : [value]));
  const low = Math.min(...known), high = Math.max(...known);
  const x = (number: number): number => 2 + (number * (width - 4)) / Math.max(1, samples.length - 1);
  // What is always the same is drawn half-way up, and nothing at all as nothing.
  const y = (value: number): number => HEIGHT - 4 - (high > low ? (value - low) / (high - low) : high === 0 ? 0 : 0.5) * (HEIGHT - 8);
  let path = "", drawing = false;
  samples.forEach(({ value }, number) => {
    if (value !== null) path += `${drawing ? "L" : "M"}${x(number).toFixed(1)} ${y(value).toFixed(1)}`;
    drawing = value !== null;
  });
  const point = (number: number | null): void => {
    setPointed(number);
    onPoint(number);
  };
  const end = pointed === null || pointed >= samples.length ? samples.length - 1 : pointed;
  const last = samples[end]?.value;
  return (
    <div class="sparkline" ref={place} aria-hidden="true" onPointerLeave={() => point(null)}
      onPointerMove={(event) => {
        const here = event.clientX - event.currentTarget.getBoundingClientRect().left;
        point(Math.min(samples.length - 1, Math.max(0, Math.round(((here - 2) / Math.max(1, width - 4)) * (samples.length - 1)))));
      }}>
      {width > 0 && known.length > 0 && (
        <svg width={width} height={HEIGHT}>
          {samples.length > 1 && <path class="area" d={`${path}L${x(samples.length - 1)} ${HEIGHT}L${x(0)} ${HEIGHT}Z`} />}
          <path class="line" d={path} />
          {last !== null && last !== undefined && <circle cx={x(end)} cy={y(last)} r="2.6" />}
        </svg>
      )}
    </div>
  );
}
