// Sentences and patterns of the server, with what stands in them made readable: IRIs by their short names, variables in
// colour, instants in the zone of the browser.
//
//     <Words text="Nothing matches ?room <http://example.org/sensors#floor> ?f." prefixes={prefixes} />

import type { JSX } from "preact";
import { Instant } from "../parts/instant";
import type { Prefixes } from "../prefixes";
import { Iri } from "../terms";
import { exact } from "../time";
import { hours } from "./scale";

const SPECIAL = /(<[^<>\s]+>|[?$][\p{L}_][\p{L}\p{N}_]*|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/u;

const DAY = new Intl.DateTimeFormat("en");

/** The time of day alone, where the day is known; all of it in the title. */
export const ShortInstant = ({ at }: { at: number }): JSX.Element => <time title={exact(at)}>{hours(at)}</time>;

export function Words({ text, prefixes = {} }: { text: string; prefixes?: Prefixes }): JSX.Element {
  let said = "";
  return (
    <>
      {text.split(SPECIAL).map((part, place) => {
        if (place % 2 === 0) return part;
        if (part.startsWith("<")) return <Iri key={place} iri={part.slice(1, -1)} prefixes={prefixes} />;
        if (/^[?$]/.test(part)) return <span key={place} class="tok-variable">{part}</span>;
        const at = Date.parse(part), again = said === DAY.format(at);
        said = DAY.format(at);
        return again ? <ShortInstant key={place} at={at} /> : <Instant key={place} at={at} />;
      })}
    </>
  );
}
