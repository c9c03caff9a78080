// How wide the place of a drawing is, so that it can be drawn in pixels: text keeps its size, lines stay sharp.
//
//     const [place, width] = useWidth();        // <div ref={place}>{width > 0 && <svg width={width} …>}</div>
//
// `useLast(value)` is the last value that was there: what is polled anew does not leave a hole meanwhile.

import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export function useWidth(): [RefObject<HTMLDivElement | null>, number] {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const there = place.current;
    if (!there) return;
    setWidth(Math.floor(there.clientWidth));
    const observer = new ResizeObserver(() => setWidth(Math.floor(there.clientWidth)));
    observer.observe(there);
    return () => observer.disconnect();
  }, []);
  return [place, width];
}

export function useLast<T>(value: T | undefined): T | undefined {
  const last = useRef(value);
  if (value !== undefined) last.current = value;
  return last.current;
}
