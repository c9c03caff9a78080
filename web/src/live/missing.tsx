// What is missing: how much of each pattern was there at an instant, and which of them left the answer without rows.

import type { JSX } from "preact";
import { get, queryPath } from "../api";
import type { Prefixes } from "../prefixes";
import { usePolled } from "../store";
import { many } from "../time";
import { Wrong } from "../parts/page";
import { useLast } from "./measured";
import type { Missing } from "./told";
import { Words } from "./words";

const ONCE = 2_000_000_000;

export function WhatIsMissing({ name, at, prefixes }: { name: string; at: number; prefixes: Prefixes }): JSX.Element {
  const { value, problem } = usePolled((signal) => get<Missing>(`${queryPath(name)}/missing?at=${at}`, signal), ONCE, [name, at]);
  const told = useLast(value);
  return (
    <section class="missing" aria-label="What is missing">
      <h2>What is missing</h2>
      <Wrong text={problem} />
      {told ? <Patterns told={told} prefixes={prefixes} /> : !problem && <p class="quiet">Looking…</p>}
    </section>
  );
}

function Patterns({ told, prefixes }: { told: Missing; prefixes: Prefixes }): JSX.Element {
  const most = Math.max(1, ...told.patterns.map(({ matches }) => matches));
  return (
    <>
      <p><Words text={told.says} prefixes={prefixes} /></p>
      {told.patterns.length > 0 && (
        <ol class="bars">
          {told.patterns.map(({ text, matches }, place) => (
            <li key={place} class={place === told.lost ? "lost" : told.lost !== null && place > told.lost ? "after" : undefined}>
              <span class="bar-name"><Words text={text} prefixes={prefixes} /></span>
              <span class="bar" style={{ "--part": `${(100 * matches) / most}%` }} />
              <span class="bar-count">{many(matches, "match", "matches")}{place === told.lost && <strong> · here it is lost</strong>}</span>
            </li>
          ))}
        </ol>
      )}
    </>
  );
}
