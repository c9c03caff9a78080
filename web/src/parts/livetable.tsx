// The live table: the answer at the instant that is looked at, what is new in it, what has ceased, and until when it holds.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { difference, type Row } from "../events/answer";
import type { Shown } from "../events/shown";
import type { Prefixes } from "../prefixes";
import { href } from "../route";
import { numberOf, TermView } from "../terms";
import { clock, many } from "../time";
import type { QueryInfo } from "../types";
import { Instant, Until } from "./instant";

const MOST_ROWS = 200;
const MOST_CEASED = 20;

/** Equal rows are told apart by how many of them came before. */
function keyed(rows: readonly Row[]): { row: Row; key: string; place: number }[] {
  const seen = new Map<string, number>();
  return rows.map((row, place) => {
    const before = seen.get(row.key) ?? 0;
    seen.set(row.key, before + 1);
    return { row, key: `${row.key}\u0002${before}`, place };
  });
}

export function LiveTable({ query, shown, prefixes, onRow }: {
  query: QueryInfo;
  shown: Shown;
  prefixes: Prefixes;
  onRow?: (row: Row) => void;
}): JSX.Element {
  const { feed, answer, before, frozen } = shown;
  const [most, setMost] = useState(MOST_ROWS);
  // ISTREAM and DSTREAM tell changes already: the change of changes says nothing.
  const comparing = query.output === "RSTREAM";
  const changes = useMemo(() => answer && difference(comparing ? before : undefined, answer), [answer, before, comparing]);
  if (!answer || !changes) return <Waiting query={query} shown={shown} />;
  const holding = answer.rows.some(({ until }) => until !== undefined);
  const columns = answer.variables.length + (holding ? 1 : 0);
  const mark = feed.marks.findLast(({ next }) => next === answer.at);
  return (
    <>
      {mark && (
        <p class={`gap ${mark.kind}`} role="note">
          {mark.kind === "lost"
            ? `Answers between ${clock(mark.after)} and ${clock(mark.next)} are kept no longer.`
            : mark.kind === "damaged"
            ? `An answer between ${clock(mark.after)} and ${clock(mark.next)} is damaged on the server's disk.`
            : mark.kind === "restored"
            ? "The server's database was put back to an earlier state: what was shown after that is not so any more."
            : `The connection was away; it went on after ${clock(mark.after)} without a gap.`}
        </p>
      )}
      <div class="table-wrap">
        <table class="live" data-at={answer.at} data-frozen={frozen !== null}>
          <caption class="hidden">Answer of {query.name} at {clock(answer.at)}</caption>
          <thead>
            <tr>
              {answer.variables.map((name) => <th scope="col" key={name}>{answer.kind === "table" ? `?${name}` : NAMES[name] ?? name}</th>)}
              {holding && <th scope="col" class="until-head" title="if nothing more arrives">holds for</th>}
            </tr>
          </thead>
          <tbody>
            {keyed(answer.rows).slice(0, most).map(({ row, key, place }) => (
              <tr key={key} class={changes.fresh[place] ? "fresh" : undefined} title={onRow && "Why is this here?"} onClick={onRow && (() => onRow(row))}>
                {row.terms.map((term, column) => <td key={column} class={numberOf(term) === undefined ? undefined : "narrow"}><TermView term={term} prefixes={prefixes} /></td>)}
                {holding && <td class="until-cell"><Until at={row.until} seen={answer.at} /></td>}
              </tr>
            ))}
            {keyed(changes.ceased).slice(0, MOST_CEASED).map(({ row, key }) => (
              <tr key={`${answer.at}\u0002${key}`} class="ceased" title="not there any more">
                {row.terms.map((term, column) => <td key={column} class={numberOf(term) === undefined ? undefined : "narrow"}><TermView term={term} prefixes={prefixes} /></td>)}
                {holding && <td class="until-cell">ceased</td>}
              </tr>
            ))}
            {answer.rows.length === 0 && changes.ceased.length === 0 && (
              <tr><td colSpan={Math.max(columns, 1)} class="quiet">No rows at this instant. <a href={href(["queries", query.name], { tab: "timeline", at: frozen })}>What is missing?</a></td></tr>
            )}
          </tbody>
        </table>
      </div>
      {answer.rows.length > most && (
        <p class="quiet">
          {many(answer.rows.length - most, "row")} more. <button type="button" class="link" onClick={() => setMost(most + 800)}>Show more</button>
        </p>
      )}
    </>
  );
}

const NAMES: Record<string, string> = { s: "subject", p: "property", o: "object" };

function Waiting({ query, shown }: { query: QueryInfo; shown: Shown }): JSX.Element {
  if (shown.problem) return <p class="wrong-box" role="alert">{shown.problem}</p>;
  if (query.status === "failed") return <p class="quiet">The query failed before it had an answer.</p>;
  if (query.status === "paused") return <p class="quiet">The query is paused, and has no answer yet.</p>;
  return (
    <div class="empty">
      <p>No answer yet{shown.feed.waiting ? `: ${shown.feed.waiting.replace(/\.$/, "")}` : ""}.</p>
      <p class="quiet">
        A query answers at its first instant after its registration. On the event clock an instant passes when an element
        with a later timestamp arrives.
      </p>
    </div>
  );
}

export function ShownBar({ shown }: { shown: Shown }): JSX.Element {
  const { answer, frozen, feed } = shown;
  const heardLater = frozen === null ? 0 : feed.answers.filter(({ at }) => at > frozen).length;
  return (
    <div class="shown-bar">
      <div class="buttons" role="group" aria-label="Instant">
        <button type="button" onClick={() => shown.step(-1)} title="The instant before ([)" aria-label="The instant before">‹</button>
        {frozen === null
          ? <button type="button" onClick={() => shown.freeze()} disabled={!answer} title="Keep this instant on the page (f)">Freeze</button>
          : <button type="button" class="on" onClick={shown.follow} title="Back to the newest instant (f)">Follow</button>}
        <button type="button" onClick={() => shown.step(1)} disabled={frozen === null} title="The instant after (])" aria-label="The instant after">›</button>
      </div>
      <span class="shown-at">
        {answer && <><Instant at={answer.at} /> · {answer.kind === "truth" ? "yes or no" : many(answer.rows.length, answer.kind === "graph" ? "triple" : "row")}</>}
        {frozen !== null && <strong class="frozen"> frozen{heardLater > 0 ? `, ${many(heardLater, "newer answer")}` : ""}</strong>}
      </span>
    </div>
  );
}
