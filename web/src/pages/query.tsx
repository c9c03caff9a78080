// One query: what it is, what it says now, and what can be done about it.

import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { call, get, mayNot, Problem, queryPath, session } from "../api";
import { Code } from "../editor/code";
import { forget } from "../events/feed";
import { useShown, type Shown } from "../events/shown";
import { whyOf } from "../live/asked";
import { panels, type PanelProps } from "../live/panels";
import { Kind, StatusBadge } from "../parts/badges";
import { CopyAs } from "../parts/copyas";
import { sure } from "../parts/dialog";
import { Ago, Instant } from "../parts/instant";
import { lazy } from "../parts/lazy";
import { LiveTable } from "../parts/livetable";
import { act } from "../parts/notices";
import { Empty, Page, Tabs, Wrong } from "../parts/page";
import { ShownBar } from "../parts/shownbar";
import { declared } from "../prefixes";
import { go, href, route, say } from "../route";
import { usePolled, useStore } from "../store";
import { Iri } from "../terms";
import { length, many } from "../time";
import type { QueryInfo, WindowInfo } from "../types";

const LOOKING = 3000;
const Panels = Object.fromEntries(panels.map(({ id, load }) => [id, lazy<PanelProps>(load)]));

export function Query({ name }: { name: string }): JSX.Element {
  const { value: query, problem, again } = usePolled(
    async (signal) => {
      try {
        return await get<QueryInfo>(queryPath(name), signal);
      } catch (error) {
        if (error instanceof Problem && error.status === 404) return null;
        throw error;
      }
    }, LOOKING, [name]);
  const shown = useShown(name);
  useEffect(() => keys(shown));
  // What the events tell is newer than what was asked for last.
  useEffect(() => again(), [shown.feed.paused, shown.feed.failure, shown.feed.ended, shown.feed.version]);
  if (query === null) return (
    <Page title={name}>
      <Empty><p>There is no query {name}.</p><p><a href={href(["queries"])}>To the queries</a></p></Empty>
    </Page>
  );
  if (!query) return <Page title={name}><Wrong text={problem} /><p class="quiet">Loading…</p></Page>;
  return <Described query={query} shown={shown} problem={problem} again={again} />;
}

function Described({ query, shown, problem, again }: { query: QueryInfo; shown: Shown; problem: string | undefined; again: () => void }): JSX.Element {
  const who = useStore(session);
  const asked = useStore(route).asked.tab ?? "table";
  const prefixes = useMemo(() => declared(query.text), [query.text]);
  const tabs = [{ id: "table", title: "Table" }, ...panels.filter(({ suits }) => suits?.(query) ?? true)];
  const tab = tabs.some(({ id }) => id === asked) ? asked : "table";
  const Panel = Panels[tab];
  const pausing = query.status === "paused" ? "resume" : "pause";
  const steer = async (): Promise<void> => {
    await act(() => call("POST", `${queryPath(query.name)}/${pausing}`), `${query.name} is ${pausing === "pause" ? "paused" : "running again"}.`);
    again();
  };
  const remove = async (): Promise<void> => {
    const made = query.stream ? ` The stream that it makes (${query.stream}) goes with it.` : "";
    if (!(await sure(`Delete the query ${query.name}?`, `Its answers are forgotten, and its subscribers are told.${made}`, "Delete"))) return;
    if (await act(() => call("DELETE", queryPath(query.name)), `${query.name} is deleted.`)) {
      go(["queries"]);
      forget(query.name);
    }
  };
  return (
    <Page title={query.name} acts={
      <>
        {!mayNot("register", who) && query.status !== "failed" && <button type="button" onClick={() => void steer()}>{pausing === "pause" ? "Pause" : "Resume"}</button>}
        {!mayNot("register", who) && <a class="button" href={href(["new"], { from: query.name })}>Edit</a>}
        <CopyAs name={query.name} secured={who?.secured ?? false} />
        {!mayNot("register", who) && <button type="button" class="danger" onClick={() => void remove()}>Delete</button>}
      </>
    }>
      <p class="facts">
        <StatusBadge status={query.status} /> <Kind query={query} />
        {query.windows.map((window) => (
          <span key={`${window.stream}${window.name}`}> · <a href={href(["streams", window.stream])}><Iri iri={window.stream} prefixes={prefixes} /></a> <span class="nobr">{reach(window)}</span></span>
        ))}
        {query.every !== null && <span> · computed every {length(query.every)}</span>}
        {query.entailment.length > 0 && <span> · entails {query.entailment.join(", ")}</span>}
        {query.stream && <span> · makes <a href={href(["streams", query.stream])}><Iri iri={query.stream} prefixes={prefixes} /></a></span>}
        <span> · {query.version === query.id ? "registered" : "replaced"} <Ago at={query.registered} /></span>
      </p>
      <Wrong text={problem} />
      <Wrong text={shown.feed.ended ? `This query ended: ${shown.feed.ended}.` : undefined} />
      {query.failure && <p class="wrong-box" role="alert">Failed at <Instant at={query.failure.at} />: {inFull(query.failure)}</p>}
      {query.warnings.map((warning) => <p class="warning-box" key={warning}>{warning}</p>)}
      <details class="text" open={tab === "table" && query.text.split("\n").length <= 14}>
        <summary>Text</summary>
        <Code text={query.text.trim()} label={`Text of ${query.name}`} />
      </details>
      <div class="panel-head">
        <Tabs tabs={tabs} shown={tab} label="Views" onShow={(id) => say({ tab: id === "table" ? null : id })} />
        <ShownBar shown={shown} />
      </div>
      <div id="panel" role="tabpanel" aria-labelledby={`tab-${tab}`} class="panel">
        {Panel ? <Panel query={query} shown={shown} /> : <LiveTable query={query} shown={shown} prefixes={prefixes} onRow={(row, place) => whyOf(row, place, shown)} />}
      </div>
    </Page>
  );
}

/** Why it failed and how to go on, which many reasons say themselves. */
function inFull({ reason, advice }: NonNullable<QueryInfo["failure"]>): string {
  if (/register it again/i.test(reason)) return reason;
  return `${reason}${/[.?!]$/.test(reason) ? "" : "."} ${advice}`;
}

function reach(window: WindowInfo): string {
  const step = (value: number | undefined, spell: (value: number) => string, same: number | undefined): string =>
    value === undefined || value === same ? "" : ` step ${spell(value)}`;
  if (window.range !== undefined) return `[${length(window.range)}${step(window.step, length, window.range)}]`;
  if (window.triples !== undefined) return `[${many(window.triples, "triple")}${step(window.triples_step, String, window.triples)}]`;
  return `[${many(window.elements ?? 0, "element")}${step(window.elements_step, String, window.elements)}]`;
}

function keys({ frozen, freeze, follow, step }: Shown): () => void {
  const pressed = (event: KeyboardEvent): void => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select, .cm-editor, dialog")) return;
    if (event.key === "f") frozen === null ? freeze() : follow();
    else if (event.key === "[") step(-1);
    else if (event.key === "]" && frozen !== null) step(1);
  };
  addEventListener("keydown", pressed);
  return () => removeEventListener("keydown", pressed);
}
