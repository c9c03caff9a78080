// From times to pixels, and where to write a time on an axis.

import { clock } from "../time";

export interface Scale {
  from: number;
  to: number;
  width: number;
  x: (at: number) => number;
  /** Milliseconds for a pixel. */
  per: number;
}

const EDGE = 10;

export function scaleOf(from: number, to: number, width: number): Scale {
  const inner = Math.max(1, width - 2 * EDGE);
  const per = Math.max(1, to - from) / inner;
  return { from, to, width, per, x: (at) => EDGE + (at - from) / per };
}

/** The time of day alone, also of another day. */
export const hours = (at: number): string => clock(at).split(" ").at(-1) ?? "";

const SECOND = 1000, MINUTE = 60_000, HOUR = 3_600_000, DAY = 86_400_000;
const STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE, 2 * MINUTE,
  5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY,
];

/** Round times inside the scale, at least `apart` pixels from each other. */
export function roundTimes({ from, to, per }: Scale, apart: number): number[] {
  const step = STEPS.find((size) => size / per >= apart) ?? Math.ceil((apart * per) / DAY) * DAY;
  const times: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) times.push(at);
  return times;
}
