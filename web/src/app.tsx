// The shell: navigation, the page that the address asks for, the status bar, and what may lie over them.

import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { session } from "./api";
import { Ask } from "./pages/ask";
import { Graphs } from "./pages/graphs";
import { Login } from "./pages/login";
import { NewQuery } from "./pages/new";
import { Queries } from "./pages/queries";
import { Query } from "./pages/query";
import { Rules } from "./pages/rules";
import { Stream } from "./pages/stream";
import { Streams } from "./pages/streams";
import { Questions } from "./parts/dialog";
import { Notices } from "./parts/notices";
import { Empty, Page } from "./parts/page";
import { Shortcuts } from "./parts/shortcuts";
import { StatusBar } from "./parts/status";
import { go, href, route, type Route } from "./route";
import { useStore } from "./store";
import { applyTheme, theme, type Theme } from "./theme";

const PLACES = [
  ["queries", "Queries"], ["streams", "Streams"], ["graphs", "Graphs"], ["rules", "Rules"], ["ask", "Ask"],
] as const;

function pageOf({ path }: Route): JSX.Element {
  const [place = "queries", name] = path;
  if (place === "queries") return name ? <Query key={name} name={name} /> : <Queries />;
  if (place === "streams") return name ? <Stream key={name} name={name} /> : <Streams />;
  const pages: Record<string, ComponentType> = { new: NewQuery, graphs: Graphs, rules: Rules, ask: Ask, login: Login };
  const Found = pages[place];
  if (Found) return <Found />;
  return (
    <Page title="Nothing here">
      <Empty><p>There is no page at this address.</p><p><a href={href(["queries"])}>To the queries</a></p></Empty>
    </Page>
  );
}

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const SIGNS: Record<Theme, string> = { system: "◐", light: "☀", dark: "☾" };

export function App(): JSX.Element {
  const now = useStore(route);
  const who = useStore(session);
  const chosen = useStore(theme);
  const [helping, setHelping] = useState(false);
  const place = now.path[0] ?? "queries";
  useEffect(() => shortcuts(() => setHelping(true)), []);
  useEffect(() => scrollTo(0, 0), [now.path.join("/")]);
  if (who?.secured && who.scopes.length === 0) return <><Login /><Notices /></>;
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={(event) => {
        event.preventDefault();
        document.getElementById("main")?.focus();
      }}>To the content</a>
      <header class="top">
        <a class="brand" href={href(["queries"])}><Logo /><span>csparql-spark</span></a>
        <nav aria-label="Pages">
          {PLACES.map(([id, title]) => (
            <a key={id} href={href([id])} aria-current={place === id || (id === "queries" && place === "new") ? "page" : undefined}>{title}</a>
          ))}
        </nav>
        <div class="top-acts">
          <button type="button" class="plain" onClick={() => applyTheme(NEXT[chosen])} title={`Colours: ${chosen}`} aria-label={`Colours: ${chosen}. Change`}>{SIGNS[chosen]}</button>
          <button type="button" class="plain" onClick={() => setHelping(true)} title="Keyboard (?)" aria-label="Keyboard shortcuts">?</button>
        </div>
      </header>
      {pageOf(now)}
      <StatusBar />
      <Notices />
      <Questions />
      {helping && <Shortcuts onClose={() => setHelping(false)} />}
    </div>
  );
}

/** `g` and a letter goes to a page, `n` begins a query, `?` tells all of them; never while somebody writes. */
function shortcuts(help: () => void): () => void {
  let going = 0;
  const pressed = (event: KeyboardEvent): void => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select, .cm-editor, dialog")) return;
    const goes: Record<string, string> = { q: "queries", s: "streams", g: "graphs", r: "rules", a: "ask" };
    const to = goes[event.key];
    if (performance.now() - going < 1200 && to) go([to]);
    else if (event.key === "g") going = performance.now();
    else if (event.key === "?") help();
    else if (event.key === "n") go(["new"]);
    else if (event.key === "/") document.querySelector<HTMLElement>("[data-filter]")?.focus();
    else return;
    if (event.key !== "g" || to) event.preventDefault();
  };
  addEventListener("keydown", pressed);
  return () => removeEventListener("keydown", pressed);
}

const Logo = (): JSX.Element => (
  <svg width="20" height="20" viewBox="0 0 16 16" aria-hidden="true">
    <path d="M4 2.5H1.5v11H4M12 2.5h2.5v11H12" fill="none" stroke="currentColor" stroke-width="1.5" />
    <circle cx="5" cy="9.5" r="1.2" fill="currentColor" /><circle cx="8" cy="6" r="1.2" fill="currentColor" />
    <circle cx="11" cy="8.5" r="1.2" fill="currentColor" />
  </svg>
);
