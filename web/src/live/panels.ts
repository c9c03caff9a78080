// The panels of a query besides its table: chart, graph, timeline, why, explain, metrics. Each is a tab, loaded when it is
// first shown, and gets what the page of the query knows.
//
//     { id: "chart", title: "Chart", load: () => import("./chart") }      // default export: a component of PanelProps
//
// A panel sees the same instant as the table: the newest one, or the one that the address says (`?at=`).

import type { ComponentType } from "preact";
import type { Shown } from "../events/shown";
import type { QueryInfo } from "../types";

export interface PanelProps {
  query: QueryInfo;
  /** The instant that is looked at, with its answer and the one before; and all that was heard. */
  shown: Shown;
}

export interface Panel {
  id: string;
  title: string;
  load: () => Promise<{ default: ComponentType<PanelProps> }>;
  /** Whether the panel has something to say of such a query; always, if it is left out. */
  suits?: (query: QueryInfo) => boolean;
}

export const panels: readonly Panel[] = [
  { id: "chart", title: "Chart", load: () => import("./chart") },
  { id: "graph", title: "Graph", load: () => import("./graph"), suits: ({ form }) => form === "CONSTRUCT" || form === "DESCRIBE" },
  { id: "timeline", title: "Timeline", load: () => import("./timeline") },
  { id: "why", title: "Why", load: () => import("./why") },
  { id: "explain", title: "Explain", load: () => import("./explain") },
  { id: "metrics", title: "Metrics", load: () => import("./metrics") },
];
