// What every page has: a head with its acts, a place for failures, and what stands where nothing is there yet.

import type { ComponentChildren, JSX, TargetedKeyboardEvent } from "preact";
import { useEffect, useRef } from "preact/hooks";

export function Page({ title, acts, children }: { title: ComponentChildren; acts?: ComponentChildren; children: ComponentChildren }): JSX.Element {
  useEffect(() => {
    document.title = `${typeof title === "string" ? title : "Console"} · csparql-spark`;
  }, [title]);
  return (
    <main id="main" tabIndex={-1}>
      <div class="head">
        <h1>{title}</h1>
        <div class="acts">{acts}</div>
      </div>
      {children}
    </main>
  );
}

export function Wrong({ text }: { text: string | undefined }): JSX.Element | null {
  return text ? <p class="wrong-box" role="alert">{text}</p> : null;
}

export function Empty({ children }: { children: ComponentChildren }): JSX.Element {
  return <div class="empty">{children}</div>;
}

export function Field({ label, hint, children }: { label: string; hint?: string; children: ComponentChildren }): JSX.Element {
  return (
    <label class="field">
      <span>{label}</span>
      {children}
      {hint && <small>{hint}</small>}
    </label>
  );
}

export interface Tab {
  id: string;
  title: string;
}

/** Tabs, with arrow keys between them, as the ARIA practices have it. */
export function Tabs({ tabs, shown, onShow, label }: { tabs: readonly Tab[]; shown: string; onShow: (id: string) => void; label: string }): JSX.Element {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Where there is not room for all of them, the one that is shown is among those that are seen.
    const there = list.current, tab = there?.querySelector<HTMLElement>(`#tab-${shown}`);
    if (there && tab) there.scrollLeft = tab.offsetLeft + tab.offsetWidth / 2 - there.offsetLeft - there.offsetWidth / 2;
  }, [shown]);
  const move = (event: TargetedKeyboardEvent<HTMLDivElement>): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const place = tabs.findIndex(({ id }) => id === shown);
    const next = tabs[(place + step + tabs.length) % tabs.length];
    if (!next) return;
    onShow(next.id);
    event.currentTarget.querySelector<HTMLElement>(`#tab-${next.id}`)?.focus();
    event.preventDefault();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move} ref={list}>
      {tabs.map(({ id, title }) => (
        <button type="button" role="tab" id={`tab-${id}`} key={id} aria-selected={id === shown} aria-controls="panel"
          tabIndex={id === shown ? 0 : -1} onClick={() => onShow(id)}>
          {title}
        </button>
      ))}
    </div>
  );
}
