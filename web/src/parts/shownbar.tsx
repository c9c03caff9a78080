// Which instant is looked at, and the buttons to look at another one.

import type { JSX } from "preact";
import type { Shown } from "../events/shown";
import { many } from "../time";
import { Instant } from "./instant";

export function ShownBar({ shown }: { shown: Shown }): JSX.Element {
  const { answer, frozen, feed } = shown;
  const heardLater = frozen === null ? 0 : feed.held.steps.filter(({ at }) => at > frozen).length;
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
