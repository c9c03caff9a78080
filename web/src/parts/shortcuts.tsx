// What the keyboard does, told by `?`.

import type { JSX } from "preact";
import { Dialog } from "./dialog";

const KEYS: [keys: string, does: string][] = [
  ["g q, g s, g g, g r, g a", "Queries, Streams, Graphs, Rules, Ask"],
  ["n", "a new query"],
  ["/", "to the filter"],
  ["f", "freeze this instant, or follow again"],
  ["[ and ]", "the instant before, the instant after"],
  ["Ctrl+Enter", "in an editor: register, save or ask"],
  ["Ctrl+Space", "in an editor: what could be written here"],
  ["F8", "in an editor: to the next mistake"],
  ["Esc, then Tab", "out of an editor"],
  ["← and →", "between tabs"],
  ["?", "this list"],
];

export const Shortcuts = ({ onClose }: { onClose: () => void }): JSX.Element => (
  <Dialog title="Keyboard" onClose={onClose}>
    <dl class="keys">
      {KEYS.map(([keys, does]) => <div key={keys}><dt>{keys}</dt><dd>{does}</dd></div>)}
    </dl>
    <form method="dialog" class="buttons"><button type="submit">Close</button></form>
  </Dialog>
);
