// Instants and lengths of time on the page.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { Store, useStore } from "../store";
import { about, clock, exact } from "../time";

const TICK = 500;
const NEAR = 120_000;
const now = new Store(Date.now());
let watchers = 0;
let timer = 0;

/** The time, twice a second, while somebody looks. */
export function useNow(): number {
  useEffect(() => {
    if (watchers++ === 0) timer = window.setInterval(() => document.hidden || now.set(Date.now()), TICK);
    return () => void (--watchers || clearInterval(timer));
  }, []);
  return useStore(now);
}

export function Instant({ at }: { at: number | null | undefined }): JSX.Element {
  if (at === null || at === undefined) return <span class="unbound">–</span>;
  const time = new Date(at);
  return <time dateTime={Number.isNaN(time.getTime()) ? undefined : time.toISOString()} title={exact(at)}>{clock(at)}</time>;
}

/** How long ago. */
export function Ago({ at }: { at: number | null | undefined }): JSX.Element {
  const present = useNow();
  if (at === null || at === undefined) return <span class="unbound">–</span>;
  return <span title={exact(at)}>{present - at < 1000 ? "just now" : `${about(present - at)} ago`}</span>;
}

/** Until when something holds: counted down where the present is near, else as a time (streams may live in the past). */
export function Until({ at, seen }: { at: number | null | undefined; seen: number }): JSX.Element {
  const present = useNow();
  if (at === undefined) return <span class="unbound" title="not known: the answer depends on what is not there">–</span>;
  if (at === null) return <span title="nothing that could expire">for ever</span>;
  if (Math.abs(present - seen) > NEAR) return <span class="until" title={exact(at)}>{clock(at)}</span>;
  const left = at - present;
  return <span class={left < 0 ? "until past" : "until"} title={exact(at)}>{left < 0 ? "ended" : about(left)}</span>;
}
