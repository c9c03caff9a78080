// Small words that say what something is.

import type { JSX } from "preact";
import type { QueryInfo, Status } from "../types";

export const StatusBadge = ({ status }: { status: Status }): JSX.Element => <span class={`badge ${status}`}>{status}</span>;

/** What kind of answers a query gives: "select", "stream of construct", "select, what is new". */
export function Kind({ query }: { query: QueryInfo }): JSX.Element {
  const form = (query.form ?? "unreadable").toLowerCase();
  const output = { RSTREAM: "", ISTREAM: ", what is new", DSTREAM: ", what ceased" }[query.output ?? "RSTREAM"];
  return <span>{query.kind === "stream" ? `stream of ${form}` : form}{output}</span>;
}
