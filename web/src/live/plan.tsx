// A plan as a tree of operators, each with what it gave and took for the last answer: rows, microseconds, bytes kept.
//
// The bar of an operator is the time that it took itself, without its parts.

import type { JSX } from "preact";
import type { Prefixes } from "../prefixes";
import { count } from "../time";
import type { PlanNode } from "./told";
import { Words } from "./words";

/** Microseconds that an operator took without its parts. */
const own = ({ micros, parts }: PlanNode): number =>
  Math.max(0, (micros ?? 0) - (parts ?? []).reduce((sum, part) => sum + (part.micros ?? 0), 0));

const all = (node: PlanNode): PlanNode[] => [node, ...(node.parts ?? []).flatMap(all)];

export const bytes = (number: number): string =>
  number < 1024 ? `${number} B` : number < 1024 ** 2 ? `${(number / 1024).toFixed(1)} KiB` : number < 1024 ** 3 ? `${(number / 1024 ** 2).toFixed(1)} MiB` : `${(number / 1024 ** 3).toFixed(1)} GiB`;

export function PlanTree({ plan, prefixes }: { plan: PlanNode; prefixes: Prefixes }): JSX.Element {
  const most = Math.max(1, ...all(plan).map(own));
  return <ul class="tree plan"><Operator node={plan} most={most} prefixes={prefixes} /></ul>;
}

function Operator({ node, most, prefixes }: { node: PlanNode; most: number; prefixes: Prefixes }): JSX.Element {
  const head = (
    <>
      <span class="does"><b>{node.node}</b> <Words text={node.does} prefixes={prefixes} /></span>
      {node.micros !== undefined && (
        <span class="costs">
          <span class="bar" style={{ "--part": `${(100 * own(node)) / most}%` }} title={`${count(own(node))} µs itself, ${count(node.micros)} µs with its parts`} />
          <span>{node.bytes !== undefined && `${bytes(node.bytes)} kept`}</span>
          <span>{count(node.rows ?? 0)} rows</span> <span>{count(own(node))} µs</span>
        </span>
      )}
    </>
  );
  if (!node.parts?.length) return <li><div class="operator">{head}</div></li>;
  return (
    <li>
      <details open>
        <summary class="operator">{head}</summary>
        <ul>{node.parts.map((part, place) => <Operator key={place} node={part} most={most} prefixes={prefixes} />)}</ul>
      </details>
    </li>
  );
}

/** A plan as lines of text. */
export const planText = (node: PlanNode, depth = 1): string[] => [
  `${"  ".repeat(depth)}${node.node} ${node.does}${node.micros === undefined ? "" : `   ${node.rows ?? 0} rows, ${node.micros} µs`}`,
  ...(node.parts ?? []).flatMap((part) => planText(part, depth + 1)),
];
