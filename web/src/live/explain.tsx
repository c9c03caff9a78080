// How a query is read and answered: which evaluator and why, its windows, who shares its work, rules and join orders; and
// what is so live: the plan with the rows and the time of each of its parts.

import type { ComponentChildren, JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { get, queryPath } from "../api";
import { Code } from "../editor/code";
import { Instant } from "../parts/instant";
import { copy } from "../parts/notices";
import { Wrong } from "../parts/page";
import { declared, vocabulary } from "../prefixes";
import { href } from "../route";
import { usePolled, useStore } from "../store";
import { Iri } from "../terms";
import { about, count, many } from "../time";
import { useLast } from "./measured";
import type { PanelProps } from "./panels";
import { bytes, planText, PlanTree } from "./plan";
import type { Explained } from "./told";
import { Words } from "./words";

const LOOKING = 2000;
const SHARE = 10;
const EVALUATORS = {
  maintained: "Maintained: matches move with the window.",
  snapshot: "Snapshot: a store is kept in step with the window, and asked anew at each instant, whose cost grows with the window.",
};

export default function Explain({ query }: PanelProps): JSX.Element {
  const declaredHere = useMemo(() => declared(query.text), [query.text]);
  const known = useStore(vocabulary).prefixes;
  const prefixes = useMemo(() => ({ ...known, ...declaredHere }), [known, declaredHere]);
  const last = useRef<{ told: Explained; next: number } | undefined>(undefined);
  // An explanation closes the background under the rules: where that takes long, it is asked for less often.
  const { value, problem } = usePolled(async (signal) => {
    const begun = performance.now();
    if (last.current && begun < last.current.next) return last.current.told;
    const told = await get<Explained>(`${queryPath(query.name)}/explain`, signal);
    const now = performance.now();
    last.current = { told, next: now + SHARE * (now - begun) - LOOKING };
    return told;
  }, LOOKING, [query.name]);
  const told = useLast(value);
  if (!told) return problem ? <Wrong text={problem} /> : <p class="quiet">Asking…</p>;
  const { live, group } = told;
  const plan = live.nodes?.plan ?? told.plan;
  return (
    <div class="explain">
      <Wrong text={problem} />
      <div class="explain-top">
        <dl class="facts-list">
          <Fact name="Evaluator">{EVALUATORS[told.evaluator]}{told.because && <> <span class="because">Because <Words text={told.because} prefixes={prefixes} />.</span></>}</Fact>
          {told.closures.length === 0 && told.group.entailment.length === 0 && <Fact name="Closure">none: the query asks for no entailment, so nothing is derived</Fact>}
          {told.closures.length > 0 && <Fact name="Closure">{told.closures.map((closure) => (
            <div key={closure.window}>{closure.strategy}{closure.window && <> of <Iri iri={closure.window} prefixes={prefixes} /></>} <span class="because">Because <Words text={closure.because} prefixes={prefixes} />. Shared by <Words text={closure.shared_by} prefixes={prefixes} />.</span></div>
          ))}</Fact>}
          <Fact name="Windows">{told.windows.map((window, place) => (
            <div key={place}><Words text={window} prefixes={prefixes} />{live.elements[place] != null && <span class="quiet"> · {many(live.elements[place] ?? 0, "triple")} in it</span>}</div>
          ))}</Fact>
          <Fact name="Instants">{told.instants}</Fact>
          <Fact name="Tells">{told.tells}</Fact>
          <Fact name="Group"><code>{group.key.slice(0, 8)}</code>, {group.shared_with.length
            ? <>shared with {group.shared_with.map((name, place) => <span key={name}>{place > 0 && ", "}<a href={href(["queries", name], { tab: "explain" })}>{name}</a></span>)}</>
            : "shared with no other query"}</Fact>
          {group.graphs.length > 0 && <Fact name="Background">{group.graphs.map((graph) => <div key={graph}><Iri iri={graph} prefixes={prefixes} /></div>)}</Fact>}
        </dl>
        <dl class="numbers" aria-label="The newest answer">
          <Figure name="instant"><Instant at={live.instant} /></Figure>
          <Figure name="rows">{count(live.rows)}</Figure>
          <Figure name="evaluation">{live.micros == null ? "–" : `${(live.micros / 1000).toFixed(1)} ms`}</Figure>
          <Figure name="latency">{live.latency_ms == null ? "–" : about(live.latency_ms)}</Figure>
          <Figure name="held">{live.state_bytes == null ? "–" : bytes(live.state_bytes)}</Figure>
          <Figure name="late elements">{live.late == null ? "–" : count(live.late)}</Figure>
        </dl>
      </div>
      {plan && (
        <section aria-label="Plan">
          <div class="section-head"><h2>Plan {live.nodes && <small class="quiet">with the numbers of <Instant at={live.nodes.instant} /></small>}</h2></div>
          <PlanTree plan={plan} prefixes={prefixes} />
        </section>
      )}
      {told.join_order?.length ? (
        <section aria-label="Join order">
          <h2>Join order</h2>
          <p class="quiet">Where a change comes in, and what it is joined to, one after the other.</p>
          {told.join_order.map((orders, scan) => (
            <ol key={scan} class="joins">
              {orders.map((order, place) => <li key={place}>{order.map((pattern, step) => <span key={step}>{step > 0 && <i> then </i>}<Words text={pattern} prefixes={prefixes} /></span>)}</li>)}
            </ol>
          ))}
        </section>
      ) : null}
      {told.rules && (
        <section aria-label="Rules">
          <h2>Rules</h2>
          <p class="quiet">{many(told.rules.written, "rule")} written, {told.rules.run ? `${many(told.rules.run.length, "rule")} run once the background is worked into them` : `not worked out: ${told.rules.because ?? ""}`}
            {told.rules.background && `; the background states ${many(told.rules.background.stated, "triple")} and entails ${count(told.rules.background.closed - told.rules.background.stated)} more`}.</p>
          {told.rules.run && told.rules.run.length > 0 && (
            <details><summary>Show them</summary><ul class="rules-run">{told.rules.run.map((rule) => <li key={rule}><Words text={rule} prefixes={prefixes} /></li>)}</ul></details>
          )}
        </section>
      )}
      <section aria-label="SPARQL">
        <div class="section-head"><h2>SPARQL that is asked at each instant</h2>
          <button type="button" onClick={() => void copy(asText(told), "The explanation")}>Copy all as text</button></div>
        <Code text={told.sparql} label="SPARQL" />
      </section>
    </div>
  );
}

const Fact = ({ name, children }: { name: string; children: ComponentChildren }): JSX.Element => <div><dt>{name}</dt><dd>{children}</dd></div>;
const Figure = ({ name, children }: { name: string; children: ComponentChildren }): JSX.Element => <div><dt>{name}</dt><dd>{children}</dd></div>;

/** The explanation as text, to be sent to somebody. */
export function asText(told: Explained): string {
  const plan = told.live.nodes?.plan ?? told.plan;
  const lines = [
    told.text, "", told.summary, "", "SPARQL body:", told.sparql, "",
    `evaluation: ${told.evaluator}${told.because ? `: ${told.because}` : ""}`,
    `group:      ${told.group.key}${told.group.shared_with.length ? `, shared with ${told.group.shared_with.join(", ")}` : ""}`,
    ...(told.group.entailment.length ? [] : ["closure:    none: the query asks for no entailment, so nothing is derived"]),
    ...told.closures.flatMap(({ window, strategy, because, shared_by }) => [
      `closure:    ${strategy}${window ? ` of <${window}>` : ""}: ${because}`, `            shared by ${shared_by}`,
    ]),
    ...(told.reads ?? [["all triples"]]).map((patterns) => `reads:      ${patterns.join(" . ")}`),
    ...(told.join_order ?? []).flat().map((order) => `join order: ${order.join("  then  ")}`),
    ...(plan ? ["plan:", ...planText(plan)] : []),
  ];
  const { rules } = told;
  if (rules) lines.push(`rules:      ${rules.written} written, ${rules.run ? `${rules.run.length} run:` : `not worked out: ${rules.because ?? ""}`}`, ...(rules.run ?? []).map((rule) => `  ${rule}`));
  return lines.join("\n");
}
