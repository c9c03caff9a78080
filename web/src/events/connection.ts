// One connection for events per browser, however many tabs look at however many queries.
//
// A browser allows six connections to a server; a tab that held one for each query would soon be the one that hangs. So
// tabs elect a leader (a Web Lock: it passes on when the tab is closed), the leader alone listens, for all queries that
// any tab wants, and passes on what it hears (a BroadcastChannel). Where there are no Web Locks each tab leads itself.
//
// What is listened for is changes (see `fold`), and at which instants nothing has changed. `id` of an event tells the place
// of every query on the connection: a leader that comes back, or comes after another one, says the last one.

import { get, lookAtSession, session } from "../api";
import { Store } from "../store";
import { heard, interrupted, listensTo, wantedQueries } from "./feed";

export type Connected = "idle" | "connecting" | "open" | "lost";

/** How the one connection is, also as told by the leading tab. */
export const connected = new Store<Connected>("idle");

type Message =
  | { type: "want"; tab: string; names: readonly string[] }
  | { type: "event"; kind: string; id: string; query: string | undefined; text: string }
  | { type: "state"; state: Connected }
  | { type: "cut" }
  | { type: "who" };

const KINDS = ["keyframe", "change", "unchanged", "gap", "problem", "end", "replaced", "paused", "resumed"];
const FIRST_WAIT = 500;
const LONGEST_WAIT = 10_000;
const ABSENT = 150_000; // a hidden tab may say no more than once a minute that it is still there
const SAYING = 20_000;

const tab = crypto.getRandomValues(new Uint32Array(2)).join("-");
const others = "BroadcastChannel" in window ? new BroadcastChannel("csparql-spark-events") : null;
const wants = new Map<string, { names: readonly string[]; seen: number }>();

let leading = false;
let source: EventSource | null = null;
let listening = "";
let lastId = "";
let wait = FIRST_WAIT;
let retry = 0;

const say = (message: Message): void => others?.postMessage(message);

function told(state: Connected): void {
  connected.set(state);
  say({ type: "state", state });
}

function names(): string[] {
  const now = Date.now();
  for (const [other, { seen }] of wants) if (other !== tab && now - seen > ABSENT) wants.delete(other);
  return [...new Set([...wants.values()].flatMap((want) => want.names))].sort();
}

/** Listen for what is wanted now; `afresh` also if that is what we listen for already. */
function listen(afresh = false): void {
  if (!leading) return;
  const queries = names();
  const asked = queries.map((name) => `query=${encodeURIComponent(name)}`).join("&");
  if (asked === listening && source && !afresh) return;
  clearTimeout(retry);
  source?.close();
  source = null;
  listening = asked;
  if (!asked) return told("idle");
  told("connecting");
  const opened = new EventSource(`/events?changes=all&${asked}${lastId && `&lastEventId=${encodeURIComponent(lastId)}`}`);
  source = opened;
  opened.onopen = () => {
    wait = FIRST_WAIT;
    told("open");
  };
  for (const kind of KINDS) opened.addEventListener(kind, (event) => received(kind, event));
  opened.onerror = () => {
    if (source !== opened) return;
    interrupted();
    say({ type: "cut" });
    told("lost");
    // The browser tries again by itself, but not after a refusal; and not as one would wish after a long sleep.
    opened.close();
    source = null;
    retry = window.setTimeout(() => void comeBack(), wait);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  };
}

/** After a failure: leave out the queries that are not there any more, since one of them would cost the connection. */
async function comeBack(): Promise<void> {
  try {
    const { queries } = await get<{ queries: { name: string }[] }>("/queries");
    const there = new Set(queries.map(({ name }) => name));
    for (const name of names())
      if (!there.has(name)) received("end", new MessageEvent("end", { data: JSON.stringify({ query: name, reason: "the query is deleted" }) }));
    for (const want of wants.values()) want.names = want.names.filter((name) => there.has(name));
    listen(true);
  } catch {
    void lookAtSession();
    retry = window.setTimeout(() => void comeBack(), wait);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  }
}

function received(kind: string, event: MessageEvent<string>): void {
  if (event.lastEventId) lastId = event.lastEventId;
  const data = JSON.parse(event.data) as { query?: string };
  heard(kind, data);
  // As text: a whole may be long, and is read by those tabs alone that look at its query.
  say({ type: "event", kind, id: event.lastEventId, query: data.query, text: event.data });
}

function want(): void {
  const mine = wantedQueries.value;
  wants.set(tab, { names: mine, seen: Date.now() });
  say({ type: "want", tab, names: mine });
  listen();
}

function hear({ data: message }: MessageEvent<Message>): void {
  if (message.type === "want") {
    wants.set(message.tab, { names: message.names, seen: Date.now() });
    listen();
    if (leading) say({ type: "state", state: connected.value });
  } else if (message.type === "who") want();
  else if (leading) return;
  else if (message.type === "event") {
    if (message.id) lastId = message.id;
    if (message.query !== undefined && listensTo(message.query)) heard(message.kind, JSON.parse(message.text));
  }
  else if (message.type === "state") connected.set(message.state);
  else interrupted();
}

/** Take part: lead when it is our turn, follow until then. */
export function connect(): void {
  if (others) others.onmessage = hear;
  wantedQueries.listen(want);
  setInterval(want, SAYING);
  addEventListener("pagehide", () => say({ type: "want", tab, names: [] }));
  addEventListener("online", () => source || listen(true));
  session.listen(() => !source && listening && listen(true));
  const lead = (): void => {
    leading = true;
    say({ type: "who" });
    want();
  };
  if (others && navigator.locks) void navigator.locks.request("csparql-spark-events", () => new Promise<never>(lead));
  else lead();
  want();
}
