// The queries: which there are, how they are, and when they last answered.

import type { JSX } from "preact";
import { get, mayNot, session } from "../api";
import { onEventClock } from "../clocks";
import { Kind, StatusBadge } from "../parts/badges";
import { Ago, Instant } from "../parts/instant";
import { Empty, Page, Wrong } from "../parts/page";
import { href, route, say } from "../route";
import { usePolled, useStore } from "../store";
import { length, many } from "../time";
import type { QueryInfo, StreamInfo } from "../types";

const LOOKING = 2000;

/** How often a query answers, as it asks for it. */
function pace(query: QueryInfo): string {
  if (query.every) return `every ${length(query.every)}`;
  const steps = [...new Set(query.windows.flatMap(({ range, step }) => step ?? range ?? []))].sort((a, b) => a - b);
  if (steps.length) return `every ${steps.map(length).join(" and ")}`;
  const counted = query.windows[0];
  const number = counted?.triples_step ?? counted?.triples ?? counted?.elements_step ?? counted?.elements;
  return number ? `every ${many(number, counted?.elements ? "element" : "triple")}` : "";
}

/** The newest instant: how long ago it was, or, if it is a stamp of producers, itself. */
function newest({ latest }: QueryInfo, stamped: boolean): JSX.Element {
  if (latest === null) return <span class="quiet">none yet</span>;
  return stamped ? <Instant at={latest} /> : <Ago at={latest} />;
}

export function Queries(): JSX.Element {
  const { value, problem } = usePolled(async (signal) => {
    const [{ queries }, { streams }] = await Promise.all([
      get<{ queries: QueryInfo[] }>("/queries", signal), get<{ streams: StreamInfo[] }>("/streams", signal),
    ]);
    return { queries, stamped: onEventClock(queries, streams) };
  }, LOOKING, []);
  const who = useStore(session);
  const filter = useStore(route).asked.filter ?? "";
  const queries = value?.queries;
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const found = queries?.filter((query) => {
    const text = `${query.name} ${query.status} ${query.form} ${query.kind} ${query.text}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return (
    <Page title="Queries" acts={mayNot("register", who) ? undefined : <a class="button primary" href={href(["new"])}>New query</a>}>
      <Wrong text={problem} />
      {queries && queries.length > 0 && (
        <input type="search" data-filter class="filter" placeholder="Filter by name, status or text" aria-label="Filter the queries"
          value={filter} onInput={(event) => say({ filter: event.currentTarget.value })} />
      )}
      {found && found.length > 0 && (
        <div class="table-wrap">
          <table class="list">
            <thead><tr><th scope="col">Name</th><th scope="col">Status</th><th scope="col" class="wide">Answers</th><th scope="col" class="wide">Pace</th><th scope="col">Newest instant</th></tr></thead>
            <tbody>
              {found.map((query) => (
                <tr key={query.id}>
                  <th scope="row"><a href={href(["queries", query.name])}>{query.name}</a></th>
                  <td><StatusBadge status={query.status} /></td>
                  <td class="wide"><Kind query={query} /></td>
                  <td class="wide">{pace(query)}</td>
                  <td>{newest(query, value?.stamped.has(query.name) ?? false)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {found?.length === 0 && queries && queries.length > 0 && <Empty><p>No query has “{filter}”.</p></Empty>}
      {queries?.length === 0 && (
        <Empty>
          <p>No query is registered yet.</p>
          <p class="quiet">A query is registered once, and from then on answers by itself, at every step of its window.</p>
          <p><a class="button primary" href={href(["new"])}>Write the first one</a></p>
        </Empty>
      )}
    </Page>
  );
}
