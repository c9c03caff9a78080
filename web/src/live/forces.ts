// Where nodes are drawn: edges pull, nodes push, everything is drawn to the middle, and boxes do not overlap.
//
//     const places = laidOut(net, before);        // before: where nodes were, so that those that stay hardly move
//
// All pairs are looked at in each round: with as many nodes as are drawn at most, that takes some milliseconds. Where it
// begins is told by the order of the nodes alone, so the same answer always looks the same.

import type { Net, Node } from "./net";

export interface Place {
  x: number;
  y: number;
}

const ROUNDS = 260, AGAIN = 60;
const TURN = Math.PI * (3 - Math.sqrt(5));
const PUSH = 9000, PULL = 0.06, MIDDLE = 0.012;
const MARGIN = 14, LETTER = 6.2;

export function laidOut({ nodes, edges }: Net, before: ReadonlyMap<string, Place>, held?: string): Map<string, Place> {
  let known = 0;
  const at = nodes.map(({ key }, number): Place => {
    const was = before.get(key);
    if (was) known++;
    // A spiral: no two nodes begin at the same place.
    return was ? { ...was } : { x: 60 * Math.sqrt(number + 1) * Math.cos(number * TURN), y: 45 * Math.sqrt(number + 1) * Math.sin(number * TURN) };
  });
  // A node that is new begins beside one that it belongs to.
  if (known)
    for (const { from, to } of edges) {
      const [a, b] = [nodes[from], nodes[to]], [p, q] = [at[from], at[to]];
      if (!a || !b || !p || !q) continue;
      if (before.has(a.key) && !before.has(b.key)) at[to] = { x: p.x + 90 * Math.cos(to * TURN), y: p.y + 60 * Math.sin(to * TURN) };
      if (before.has(b.key) && !before.has(a.key)) at[from] = { x: q.x + 90 * Math.cos(from * TURN), y: q.y + 60 * Math.sin(from * TURN) };
    }
  const rounds = known === nodes.length ? AGAIN : known > nodes.length / 2 ? 2 * AGAIN : ROUNDS;
  for (let round = 0; round < rounds; round++) {
    const heat = (known === nodes.length ? 6 : 40) * (1 - round / rounds) + 0.5;
    const by = forces(nodes, edges, at);
    by.forEach(({ x, y }, number) => {
      const place = at[number];
      if (!place || nodes[number]?.key === held) return;
      const size = Math.hypot(x, y) || 1, step = Math.min(size, heat);
      place.x += (x / size) * step;
      place.y += (y / size) * step;
    });
  }
  for (let round = 0; round < 12; round++) apart(nodes, at, held);
  return new Map(nodes.map(({ key }, number) => [key, at[number] ?? { x: 0, y: 0 }]));
}

function forces(nodes: Net["nodes"], edges: Net["edges"], at: readonly Place[]): Place[] {
  const by = at.map(({ x, y }) => ({ x: -MIDDLE * x, y: -1.6 * MIDDLE * y }));
  for (let i = 0; i < at.length; i++)
    for (let j = i + 1; j < at.length; j++) {
      const [p, q, f, g] = [at[i], at[j], by[i], by[j]] as [Place, Place, Place, Place];
      const x = p.x - q.x, y = p.y - q.y;
      const push = PUSH / (x * x + y * y + 200) / 10;
      const far = Math.hypot(x, y) || 1;
      f.x += (x / far) * push; f.y += (y / far) * push;
      g.x -= (x / far) * push; g.y -= (y / far) * push;
    }
  for (const { from, to, label } of edges) {
    const [p, q, f, g] = [at[from], at[to], by[from], by[to]] as [Place, Place, Place, Place];
    const x = q.x - p.x, y = q.y - p.y, far = Math.hypot(x, y) || 1;
    const along = Math.abs(x) / far, across = Math.abs(y) / far;
    // Between the boxes there is room for the name of the edge, however it lies.
    const room = reach(nodes[from], along, across) + reach(nodes[to], along, across) + 34 + LETTER * label.length * along;
    const pull = PULL * (far - room);
    f.x += (x / far) * pull; f.y += (y / far) * pull;
    g.x -= (x / far) * pull; g.y -= (y / far) * pull;
  }
  return by;
}

/** From the middle of a box to its border, in a direction. */
const reach = (node: Node | undefined, along: number, across: number): number =>
  node ? Math.min(node.width / 2 / (along || 1e-6), node.height / 2 / (across || 1e-6)) : 0;

/** Boxes that lie over each other are moved apart, along the shorter way. */
function apart(nodes: Net["nodes"], at: Place[], held: string | undefined): void {
  for (let i = 0; i < nodes.length; i++)
    for (let j = i + 1; j < nodes.length; j++) {
      const [a, b, p, q] = [nodes[i], nodes[j], at[i], at[j]];
      if (!a || !b || !p || !q) continue;
      const x = (a.width + b.width) / 2 + MARGIN - Math.abs(p.x - q.x), y = (a.height + b.height) / 2 + MARGIN - Math.abs(p.y - q.y);
      if (x <= 0 || y <= 0) continue;
      const [alongX, alongY] = x < y ? [x * (p.x < q.x ? -1 : 1), 0] : [0, y * (p.y < q.y ? -1 : 1)];
      const [forA, forB] = a.key === held ? [0, 1] : b.key === held ? [1, 0] : [0.5, 0.5];
      p.x += alongX * forA; p.y += alongY * forA;
      q.x -= alongX * forB; q.y -= alongY * forB;
    }
}
