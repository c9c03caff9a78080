// Why a triple holds, as a tree: the triple, the rule that made it, and the triples that the rule was given, down to those
// that were pushed or are in the background.

import type { JSX } from "preact";
import { Until } from "../parts/instant";
import type { Prefixes } from "../prefixes";
import { TermView } from "../terms";
import { termOf } from "./patterns";
import type { Derivation } from "./told";
import { Words } from "./words";

const OPEN = 3;

export function DerivationTree({ derivation, at, prefixes }: { derivation: Derivation; at: number; prefixes: Prefixes }): JSX.Element {
  return <ul class="tree"><Part derivation={derivation} at={at} prefixes={prefixes} depth={0} /></ul>;
}

function Part({ derivation, at, prefixes, depth }: { derivation: Derivation; at: number; prefixes: Prefixes; depth: number }): JSX.Element {
  const { rule, text, premises, until } = derivation;
  const head = (
    <>
      <TripleView triple={derivation.triple} prefixes={prefixes} />
      {rule ? <span class="badge rule" title={text}>{rule.length > 24 ? "rule" : rule}</span> : <span class="badge given">given</span>}
      <span class="holds">{until === undefined ? "for ever" : <>holds <Until at={until} seen={at} /></>}</span>
    </>
  );
  if (!premises?.length) return <li class="given"><span class="leaf">{head}</span></li>;
  return (
    <li>
      <details open={depth < OPEN}>
        <summary>{head}</summary>
        {text && <p class="rule-text"><Words text={text} prefixes={prefixes} /></p>}
        <ul>{premises.map((premise, place) => <Part key={place} derivation={premise} at={at} prefixes={prefixes} depth={depth + 1} />)}</ul>
      </details>
    </li>
  );
}

export function TripleView({ triple, prefixes }: { triple: readonly string[]; prefixes: Prefixes }): JSX.Element {
  return <span class="triple">{triple.map((text, place) => <span key={place}>{place > 0 && " "}<TermView term={termOf(text)} prefixes={prefixes} /></span>)}</span>;
}
