// Places in a text: the server counts lines and columns from 1, in code points; editors count offsets in UTF-16.

import type { Text } from "@codemirror/state";
import type { Fix, Mistake } from "../types";

export function offset(text: Text, line: number, column: number): number {
  const { from, text: source } = text.line(Math.min(Math.max(line, 1), text.lines));
  let units = 0;
  for (const sign of source) {
    if (--column < 1) break;
    units += sign.length;
  }
  return from + units;
}

export interface Range {
  from: number;
  to: number;
}

/** The characters that a mistake is about: at least one, where there is one. */
export function rangeOf(text: Text, { line, column, endLine, endColumn }: Mistake): Range {
  const from = offset(text, line, column);
  const to = endColumn === undefined ? from : offset(text, endLine ?? line, endColumn);
  if (to > from) return { from, to };
  return from < text.length ? { from, to: from + 1 } : { from: Math.max(0, from - 1), to: from };
}

export const changeOf = (text: Text, fix: Fix): Range & { insert: string } => ({
  from: offset(text, fix.line, fix.column),
  to: offset(text, fix.endLine, fix.endColumn),
  insert: fix.text,
});
