// A text with its colours, to be read and not to be written.

import type { JSX } from "preact";
import { shortened, type Prefixes } from "../prefixes";
import { spans, type Syntax } from "./tokens";

/** With `prefixes` IRIs are shown by their short names, and copied whole. */
export function Code({ text, syntax = "query", label, prefixes }: { text: string; syntax?: Syntax; label: string; prefixes?: Prefixes }): JSX.Element {
  const parts: (JSX.Element | string)[] = [];
  let end = 0;
  for (const { from, to, kind } of spans(text, syntax)) {
    if (from > end) parts.push(text.slice(end, from));
    const word = text.slice(from, to);
    const short = prefixes && kind === "iri" ? shortened(word.slice(1, -1), prefixes) : undefined;
    parts.push(short ? <span class="tok-iri" data-full={word} title={word}>{short}</span> : <span class={`tok-${kind}`}>{word}</span>);
    end = to;
  }
  parts.push(text.slice(end));
  return <pre class="code" tabIndex={0} aria-label={label}>{parts}</pre>;
}
