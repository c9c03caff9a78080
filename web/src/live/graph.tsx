// The graph of an answer that is one: its triples as nodes and edges, and those of a node on a press.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Row } from "../events/answer";
import { declared, vocabulary, type Prefixes } from "../prefixes";
import { useStore } from "../store";
import { TermView, whole } from "../terms";
import { clock, many } from "../time";
import { askWhy } from "./asked";
import { MOST_NODES, netOf } from "./net";
import { NetView } from "./netview";
import type { PanelProps } from "./panels";

export default function Graph({ query, shown }: PanelProps): JSX.Element {
  const prefixes = useMemo(() => declared(query.text), [query.text]);
  const known = useStore(vocabulary);
  const { answer, change } = shown;
  const rows = answer?.rows; // the same rows as before, where nothing has changed
  const net = useMemo(() => netOf(rows ?? [], prefixes), [rows, prefixes, known]);
  const [chosen, setChosen] = useState<string | null>(null);
  const fresh = useMemo(() => new Set((change?.added ?? []).flatMap(({ row: { terms: [subject] } }) => (subject ? [whole(subject)] : []))), [change]);
  if (!answer) return <div class="empty"><p>No answer yet: the graph is drawn with the first one.</p></div>;
  if (!answer.rows.length) return <div class="empty"><p>No triples at this instant.</p></div>;
  const node = net.nodes.find(({ key }) => key === chosen);
  const its = node ? [...answer.rows].filter(({ terms }) => terms.some((term) => term && whole(term) === whole(node.term))) : [];
  return (
    <>
      {net.more > 0 && <p class="warning-box">More than {MOST_NODES} nodes are not drawn: {many(net.more, "triple")} of {answer.rows.length} are left out. The table has all of them.</p>}
      <NetView net={net} chosen={chosen} fresh={fresh} onChoose={setChosen} label={`Graph of ${query.name} at ${clock(answer.at)}: ${many(net.nodes.length, "node")}`} />
      {node && its.length > 0
        ? <Triples rows={its} at={answer.at} prefixes={prefixes} onClose={() => setChosen(null)} />
        : <p class="quiet">Press a node to see its triples. Drag to move, Ctrl and the wheel (or + and −) to make it larger.</p>}
    </>
  );
}

function Triples({ rows, at, prefixes, onClose }: { rows: readonly Row[]; at: number; prefixes: Prefixes; onClose: () => void }): JSX.Element {
  return (
    <section aria-label="Its triples" class="its-triples">
      <div class="section-head"><h2>{many(rows.length, "triple")}</h2><button type="button" class="plain" onClick={onClose}>Close</button></div>
      <div class="table-wrap">
        <table class="live">
          <thead><tr><th scope="col">subject</th><th scope="col">property</th><th scope="col">object</th><th scope="col"><span class="hidden">Why</span></th></tr></thead>
          <tbody>
            {rows.map(({ key, terms }) => (
              <tr key={key}>
                {terms.map((term, place) => <td key={place}><TermView term={term} prefixes={prefixes} /></td>)}
                <td class="until-cell"><button type="button" class="link" onClick={() => askWhy(at, terms)}>why?</button></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
