// The last elements of a stream, newest first.

import type { JSX } from "preact";
import { get, streamPath } from "../api";
import { Ago } from "../parts/instant";
import { Wrong } from "../parts/page";
import { usePolled } from "../store";
import { TermView } from "../terms";
import type { StreamInfo } from "../types";
import { useLast } from "./measured";
import { termOf } from "./patterns";
import type { ElementTold } from "./told";
import { ShortInstant } from "./words";

/** Of a stream that holds nothing, where something has come. */
export const FORGOTTEN = "What came is kept no longer: the log keeps what windows reach back to, and that for the time of keep-log.";

const LOOKING = 2000;
const MOST = 50;

/** Which elements came late, as far as these ones tell: the clock had passed their stamps when they were logged. */
export function lateOnes(elements: readonly ElementTold[], { clock, delay }: Pick<StreamInfo, "clock" | "delay">): boolean[] {
  const late = elements.map(() => false);
  if (clock === "arrival") return late;
  let reading = -Infinity, newest = -Infinity;
  for (let place = elements.length - 1; place >= 0; place--) {
    const element = elements[place];
    if (!element) continue;
    // What was logged together does not make each other late.
    if (elements[place + 1]?.logged !== element.logged) reading = newest;
    late[place] = element.at <= reading;
    newest = Math.max(newest, element.at - delay - 1);
  }
  return late;
}

export function Elements({ stream }: { stream: StreamInfo }): JSX.Element | null {
  const { value, problem } = usePolled((signal) => get<{ elements: ElementTold[] }>(`${streamPath(stream.name)}/elements?limit=${MOST}`, signal), LOOKING, [stream.name]);
  const elements = useLast(value)?.elements;
  const late = elements ? lateOnes(elements, stream) : [];
  return (
    <section aria-label="Last elements">
      <div class="section-head"><h2>Last elements</h2>{elements && elements.length > 0 && <span class="quiet">the newest came <Ago at={elements[0]?.logged} /></span>}</div>
      <Wrong text={problem} />
      {elements?.length === 0 && <p class="quiet">{stream.forgotten ? FORGOTTEN : "Nothing has come yet."}</p>}
      {elements && elements.length > 0 && (
        <div class="table-wrap elements">
          <table class="live">
            <thead><tr><th scope="col">stamp</th><th scope="col">subject</th><th scope="col">property</th><th scope="col">object</th></tr></thead>
            <tbody>
              {elements.map(({ at, triple }, place) => (
                <tr key={place} class={late[place] ? "late" : undefined}>
                  <td class="narrow nobr"><ShortInstant at={at} />{late[place] && <span class="badge failed" title="the clock of the stream had passed this stamp when it came">late</span>}</td>
                  {triple.map((text, column) => <td key={column}><TermView term={termOf(text)} /></td>)}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
