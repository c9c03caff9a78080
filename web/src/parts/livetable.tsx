// The live table: the answer at the instant that is looked at, what has changed at it, and until when its rows hold.
//
// What has changed is marked for a moment: a value that is another one, a row that is new, a row that went (it stays for that
// moment, where it was). An instant that somebody keeps on the page keeps its marks. Many rows are seen through a window.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { groupOf, placeOf, type Answer, type Row } from "../events/answer";
import type { Change } from "../events/change";
import type { Mark } from "../events/feed";
import { marksOf, shelf, UNMARKED, type Marks, type Shelf } from "../events/marks";
import type { Shown } from "../events/shown";
import type { Prefixes } from "../prefixes";
import { href } from "../route";
import { numberOf, TermView } from "../terms";
import { clock, many } from "../time";
import type { QueryInfo } from "../types";
import { Until } from "./instant";
import { MOST_WHOLE, useRowWindow } from "./rowwindow";

const MARKED = 3000; // as long as the colours in style.css take to fade
const MOST_GONE = 200;

interface TableProps {
  query: QueryInfo;
  shown: Shown;
  prefixes: Prefixes;
  onRow?: (row: Row, place: number) => void;
}

export function LiveTable(props: TableProps): JSX.Element {
  const { query, shown } = props;
  return shown.answer ? <Rows {...props} answer={shown.answer} /> : <Waiting query={query} shown={shown} />;
}

function Rows({ query, shown, prefixes, onRow, answer }: TableProps & { answer: Answer }): JSX.Element {
  const { feed, frozen } = shown;
  const { at, change } = useMarked(query, shown, answer);
  const marks = useMemo(() => (change ? marksOf(answer, change) : UNMARKED), [answer.rows, change]);
  const shelved = useMemo(() => shelf(answer, marks.gone.slice(0, MOST_GONE)), [answer.rows, marks]);
  const look = useRowWindow(shelved, answer.rows.length > MOST_WHOLE, useAnchor(answer, shelved));
  const holding = answer.rows.at(0)?.until !== undefined || marks.gone[0]?.row.until !== undefined;
  const columns = answer.variables.length + (holding ? 1 : 0);
  const below = look.reach - look.to;
  return (
    <>
      <Missed mark={feed.marks.findLast(({ next }) => next === answer.at)} />
      <div ref={look.frame} {...(look.windowed ? { class: "table-wrap windowed", role: "region", "aria-label": "Rows", tabIndex: 0 } : { class: "table-wrap" })}>
        <table class="live" data-at={answer.at} data-frozen={frozen !== null} aria-rowcount={look.windowed ? answer.rows.length + 1 : undefined}
          style={look.windowed ? { minWidth: `${9 * columns}rem` } : undefined}>
          <caption class="hidden">Answer of {query.name} at {clock(answer.at)}</caption>
          <thead>
            <tr>
              {answer.variables.map((name) => <th scope="col" key={name}>{answer.kind === "table" ? `?${name}` : NAMES[name] ?? name}</th>)}
              {holding && <th scope="col" class="until-head" title="if nothing more arrives">holds for</th>}
            </tr>
          </thead>
          <tbody>
            {look.from > 0 && <Room rows={look.from} height={look.height} />}
            {keyed(shelved.slice(look.from, look.to), answer).map(({ row, place, key }) => (
              <RowView key={key} row={row} place={place} answer={answer} marks={marks} marked={at} holding={holding} prefixes={prefixes} onRow={onRow} />
            ))}
            {below > 0 && <Room rows={below} height={look.height} />}
            {shelved.length === 0 && (
              <tr><td colSpan={Math.max(columns, 1)} class="quiet">No rows at this instant. <a href={href(["queries", query.name], { tab: "timeline", at: frozen })}>What is missing?</a></td></tr>
            )}
          </tbody>
        </table>
      </div>
      {look.reach < shelved.length && <p class="quiet">{many(shelved.length - look.reach, "row")} more cannot be shown here: ask for CSV with curl.</p>}
    </>
  );
}

const NAMES: Record<string, string> = { s: "subject", p: "property", o: "object" };

/** The last change, with its instant, as long as it is marked. ISTREAM and DSTREAM tell changes already: the change of
 * changes says nothing. */
function useMarked(query: QueryInfo, { frozen, change, feed: { held } }: Shown, answer: Answer): { at: number; change: Change | null } {
  const [over, setOver] = useState<number | null>(null);
  const last = held.answer === answer ? held.steps.findLast((step) => !step.change || step.change.added.length + step.change.removed.length > 0) : undefined;
  const at = frozen === null && last ? last.at : answer.at;
  useEffect(() => {
    if (frozen !== null) return;
    const timer = setTimeout(() => setOver(at), MARKED);
    return () => clearTimeout(timer);
  }, [at, frozen]);
  if (query.output !== "RSTREAM") return { at, change: null };
  if (frozen !== null) return { at, change };
  return { at, change: over === at ? null : (last?.change ?? null) };
}

/** Where the row is now that was at a place when this was drawn last. */
function useAnchor(answer: Answer, shelved: Shelf): (place: number) => number | undefined {
  const before = useRef(shelved);
  useEffect(() => void (before.current = shelved), [shelved]);
  return (place) => {
    const row = before.current.slice(place, place + 1)[0]?.row;
    const now = row && placeOf(row, answer);
    return now === undefined ? undefined : shelved.shownAt(Math.min(now, answer.rows.length - 1));
  };
}

/** A row stays the same on the page while what tells it apart does; equal ones are told apart by how many are before. */
function keyed(rows: ReturnType<Shelf["slice"]>, answer: Answer): { row: Row; place: number | undefined; key: string }[] {
  const seen = new Map<string, number>();
  return rows.map(({ row, place }) => {
    const group = `${place === undefined ? "gone" : ""}\u0002${groupOf(row, answer)}`;
    const before = seen.get(group) ?? 0;
    seen.set(group, before + 1);
    return { row, place, key: `${group}\u0002${before}` };
  });
}

/** The room of rows that are not on the page. */
const Room = ({ rows, height }: { rows: number; height: number }): JSX.Element => <tr aria-hidden="true" class="room" style={{ height: `${rows * height}px` }} />;

function RowView({ row, place, answer, marks, marked, holding, prefixes, onRow }: {
  row: Row; place: number | undefined; answer: Answer; marks: Marks; marked: number; holding: boolean; prefixes: Prefixes; onRow: TableProps["onRow"];
}): JSX.Element {
  const gone = place === undefined;
  const changed = marks.cells.get(row) ?? [];
  const look = (column: number): string => `${numberOf(row.terms[column]) === undefined ? "" : "narrow"}${changed.includes(column) ? " changed" : ""}`.trim();
  return (
    <tr data-row aria-rowindex={gone ? undefined : place + 2} class={gone ? "ceased" : marks.fresh.has(row) ? "fresh" : undefined}
      title={gone ? "not there any more" : onRow && "Why is this here?"} onClick={gone || !onRow ? undefined : () => onRow(row, place)}>
      {row.terms.map((term, column) => (
        // A cell that changes again is another one, so that its colour fades anew.
        <td key={changed.includes(column) ? `${column} ${marked}` : column} class={look(column) || undefined}><TermView term={term} prefixes={prefixes} /></td>
      ))}
      {holding && <td class="until-cell">{gone ? "ceased" : <Until at={row.until} seen={answer.at} />}</td>}
    </tr>
  );
}

function Missed({ mark }: { mark: Mark | undefined }): JSX.Element | null {
  return mark ? (
    <p class={`gap ${mark.kind}`} role="note">
      {mark.kind === "lost"
        ? `Answers between ${clock(mark.after)} and ${clock(mark.next)} are kept no longer.`
        : mark.kind === "skipped"
        ? `Answers between ${clock(mark.after)} and ${clock(mark.next)} were not told here: too many at once, or too large. They can be read by their instants.`
        : mark.kind === "damaged"
        ? `An answer between ${clock(mark.after)} and ${clock(mark.next)} is damaged on the server's disk.`
        : mark.kind === "restored"
        ? "The server's database was put back to an earlier state: what was shown after that is not so any more."
        : `The connection was away; it went on after ${clock(mark.after)} without a gap.`}
    </p>
  ) : null;
}

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
