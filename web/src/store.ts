// A value that tells when it changes, and the hooks that make components follow one.
//
//     const health = new Store<Health | null>(null);
//     health.set(await get("/health"));
//     const now = useStore(health);              // in a component: drawn again at each change

import { useCallback, useEffect, useReducer, useRef, useState } from "preact/hooks";
import { sentence } from "./sentence";

export class Store<T> {
  private listeners = new Set<() => void>();
  constructor(public value: T) {}

  set(value: T): void {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const listener of [...this.listeners]) listener();
  }

  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }
}

export function useStore<T>(store: Store<T>): T {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const seen = useRef(store.value);
  seen.current = store.value;
  useEffect(() => {
    if (!Object.is(seen.current, store.value)) draw(undefined);
    return store.listen(() => draw(undefined));
  }, [store]);
  return store.value;
}

export interface Polled<T> {
  value: T | undefined;
  /** The sentence of the last failure; undefined after a success. */
  problem: string | undefined;
  again: () => void;
}

/** What `load` gives, now and every `milliseconds`, while the page is looked at. A failure leaves the last value. */
export function usePolled<T>(load: (signal: AbortSignal) => Promise<T>, milliseconds: number, keys: unknown[]): Polled<T> {
  const [state, setState] = useState<{ value: T | undefined; problem: string | undefined }>({
    value: undefined,
    problem: undefined,
  });
  const wake = useRef(() => {});
  useEffect(() => {
    const ended = new AbortController();
    let timer = 0;
    let running = false;
    setState({ value: undefined, problem: undefined });
    const round = async (): Promise<void> => {
      if (running) return;
      running = true;
      clearTimeout(timer);
      try {
        const value = await load(ended.signal);
        if (!ended.signal.aborted) setState({ value, problem: undefined });
      } catch (error) {
        if (!ended.signal.aborted) setState((last) => ({ value: last.value, problem: sentence(error) }));
      }
      running = false;
      if (!ended.signal.aborted && !document.hidden) timer = window.setTimeout(round, milliseconds);
    };
    const seen = (): void => void (document.hidden || round());
    wake.current = () => void round();
    document.addEventListener("visibilitychange", seen);
    void round();
    return () => {
      ended.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [milliseconds, ...keys]);
  return { ...state, again: useCallback(() => wake.current(), []) };
}

/** A value that outlives the page, in this browser. */
export function kept<T>(name: string, otherwise: T): { read: () => T; write: (value: T) => void } {
  const key = `csparql-spark.${name}`;
  return {
    read: () => {
      const text = localStorage.getItem(key);
      try {
        return text === null ? otherwise : (JSON.parse(text) as T);
      } catch {
        return otherwise;
      }
    },
    write: (value) => localStorage.setItem(key, JSON.stringify(value)),
  };
}
