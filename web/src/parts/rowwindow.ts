// A window onto many rows: only those that are seen, and some above and below, are on the page.
//
//     const { frame, from, to, height, windowed } = useRowWindow(shelf, rows.length > MOST_WHOLE, anchor);
//     <div ref={frame} class="windowed"> … rows from `from` to `to`, with room of `from * height` above them
//
// Rows have one height, which is measured. A table of few rows is shown whole; one that had many stays in its window, so that
// the page does not jump. What is looked at stays where it is when rows come and go above it: `anchor` says where it is now.

import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export const MOST_WHOLE = 200;
const AROUND = 12;
const USUAL_HEIGHT = 30;
const USUAL_ROOM = 900;
const HIGHEST = 16_000_000; // pixels: what lies lower browsers do not show

export interface RowWindow {
  frame: RefObject<HTMLDivElement | null>;
  windowed: boolean;
  from: number;
  to: number;
  /** How many rows can be scrolled to. */
  reach: number;
  height: number;
}

/** `anchor` tells where a row is now that was at a place when this was drawn last; undefined if that is not known. */
export function useRowWindow(rows: { length: number }, many: boolean, anchor: (place: number) => number | undefined): RowWindow {
  const frame = useRef<HTMLDivElement>(null);
  const windowed = useRef(false);
  if (many) windowed.current = true;
  const { length } = rows;
  const [height, setHeight] = useState(USUAL_HEIGHT);
  const [seen, setSeen] = useState({ top: 0, room: USUAL_ROOM });
  const reach = Math.min(length, Math.floor(HIGHEST / height));
  // What is asked for at the places of the rows that were drawn last is asked before others are drawn.
  const last = useRef({ rows, top: 0 });
  const kept = windowed.current && last.current.rows !== rows && last.current.top > 0 ? anchor(Math.floor(last.current.top / height)) : undefined;
  useLayoutEffect(() => {
    const there = frame.current;
    if (!there || !windowed.current) return;
    if (kept !== undefined) there.scrollTop = kept * height + (last.current.top % height);
    const measured = there.querySelector<HTMLElement>("tbody tr[data-row]")?.getBoundingClientRect().height ?? 0;
    if (measured > 0 && Math.abs(measured - height) > 0.1) setHeight(measured);
    const looked = (): void => {
      last.current.top = there.scrollTop;
      setSeen((before) => {
        const now = { top: there.scrollTop, room: there.clientHeight };
        const steady = Math.abs(now.top - before.top) < (AROUND / 2) * height && now.room === before.room;
        return steady ? before : now;
      });
    };
    last.current.rows = rows;
    looked();
    there.addEventListener("scroll", looked, { passive: true });
    const observer = new ResizeObserver(looked);
    observer.observe(there);
    return () => {
      there.removeEventListener("scroll", looked);
      observer.disconnect();
    };
  }, [rows, windowed.current, height]);
  if (!windowed.current) return { frame, windowed: false, from: 0, to: length, reach: length, height };
  const top = Math.floor((kept === undefined ? seen.top : kept * height) / height);
  const from = Math.max(0, Math.min(top, reach) - AROUND);
  return { frame, windowed: true, from, to: Math.min(reach, top + Math.ceil(seen.room / height) + AROUND), reach, height };
}
