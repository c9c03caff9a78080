// Where nodes are drawn: edges pull, nodes push, everything is drawn to the middle, and boxes do not overlap.
//
//     const places = laidOut(net, before);        // before: where nodes were, so that those that stay need not move
//
// All pairs are looked at in each round: with as many nodes as are drawn at most, that takes some milliseconds. Where it
// begins is told by the order of the nodes alone, so the same answer always looks the same.

import type { Net, Node } from "./net";

export interface Place {
  x: number;
  y: number;
}

const ROUNDS = 260, AGAIN = 120;
const TURN = Math.PI * (3 - Math.sqrt(5));
const PUSH = 40_000, PULL = 0.06, MIDDLE = 0.012;
const MARGIN = 14, GAP = 44, LETTER = 6.2;

export function laidOut(net: Net, before: ReadonlyMap<string, Place>): Map<string, Place> {
  if (net.nodes.length && net.nodes.every(({ key }) => before.has(key))) return new Map(net.nodes.map(({ key }) => [key, before.get(key) as Place]));
  return packed(componentsOf(net).map((part) => ({ part, at: settled(part, before) })));
}

/** What hangs together is laid out by itself: nothing else gets in between. */
function componentsOf({ nodes, edges }: Net): Net[] {
  const root = nodes.map((_, number) => number);
  const find = (number: number): number => (root[number] === number ? number : (root[number] = find(root[number] ?? number)));
  for (const { from, to } of edges) root[find(from)] = find(to);
  const parts = new Map<number, Net>();
  const place = nodes.map((node, number) => {
    const part = parts.get(find(number)) ?? { nodes: [], edges: [], more: 0 };
    parts.set(find(number), part);
    return part.nodes.push(node) - 1;
  });
  for (const edge of edges) parts.get(find(edge.from))?.edges.push({ ...edge, from: place[edge.from] ?? 0, to: place[edge.to] ?? 0 });
  return [...parts.values()];
}

function settled({ nodes, edges }: Net, before: ReadonlyMap<string, Place>): Place[] {
  const known = nodes.filter(({ key }) => before.has(key)).length;
  const at = nodes.map(({ key }, number): Place =>
    // Beginning along a flat spiral: no two nodes are at the same place, and there is more room to the sides.
    ({ ...(before.get(key) ?? { x: 70 * Math.sqrt(number) * Math.cos(number * TURN), y: 40 * Math.sqrt(number) * Math.sin(number * TURN) }) }));
  // A node that is new begins beside one that it belongs to.
  for (const { from, to } of known ? edges : []) {
    const [a, b, p, q] = [nodes[from], nodes[to], at[from], at[to]];
    if (!a || !b || !p || !q) continue;
    if (before.has(a.key) && !before.has(b.key)) at[to] = { x: p.x + 90 * Math.cos(to * TURN), y: p.y + 60 * Math.sin(to * TURN) };
    if (before.has(b.key) && !before.has(a.key)) at[from] = { x: q.x + 90 * Math.cos(from * TURN), y: q.y + 60 * Math.sin(from * TURN) };
  }
  const rounds = known === nodes.length ? 0 : known > nodes.length / 2 ? AGAIN : ROUNDS;
  for (let round = 0; round < rounds; round++) {
    const heat = 40 * (1 - round / rounds) + 0.5;
    forces(nodes, edges, at).forEach(({ x, y }, number) => {
      const place = at[number];
      if (!place) return;
      const size = Math.hypot(x, y) || 1, step = Math.min(size, heat);
      place.x += (x / size) * step;
      place.y += (y / size) * step;
    });
  }
  // Edges are read from the left to the right, as far as they all can be.
  if (!known && edges.reduce((sum, { from, to }) => sum + (at[to]?.x ?? 0) - (at[from]?.x ?? 0), 0) < 0) for (const place of at) place.x = -place.x;
  for (let round = 0; round < 12; round++) apart(nodes, at);
  return at;
}

/** The parts side by side, the largest first, in rows that are about as wide as they are high together. */
function packed(parts: { part: Net; at: Place[] }[]): Map<string, Place> {
  const boxes = parts.map(({ part: { nodes }, at }) => {
    const left = Math.min(...nodes.map(({ width }, n) => (at[n]?.x ?? 0) - width / 2)), right = Math.max(...nodes.map(({ width }, n) => (at[n]?.x ?? 0) + width / 2));
    const top = Math.min(...nodes.map(({ height }, n) => (at[n]?.y ?? 0) - height / 2)), bottom = Math.max(...nodes.map(({ height }, n) => (at[n]?.y ?? 0) + height / 2));
    return { nodes, at, left, top, wide: right - left + GAP, high: bottom - top + GAP };
  }).sort((a, b) => b.wide * b.high - a.wide * a.high);
  const row = Math.max(...boxes.map(({ wide }) => wide), 1.4 * Math.sqrt(boxes.reduce((sum, { wide, high }) => sum + wide * high, 0)));
  const found = new Map<string, Place>();
  let x = 0, y = 0, tall = 0;
  for (const { nodes, at, left, top, wide, high } of boxes) {
    if (x > 0 && x + wide > row) [x, y, tall] = [0, y + tall, 0];
    nodes.forEach(({ key }, n) => found.set(key, { x: x + (at[n]?.x ?? 0) - left, y: y + (at[n]?.y ?? 0) - top }));
    x += wide;
    tall = Math.max(tall, high);
  }
  return found;
}

function forces(nodes: Net["nodes"], edges: Net["edges"], at: readonly Place[]): Place[] {
  const by = at.map(({ x, y }) => ({ x: -MIDDLE * x, y: -2.4 * MIDDLE * y }));
  for (let i = 0; i < at.length; i++)
    for (let j = i + 1; j < at.length; j++) {
      const [p, q, f, g] = [at[i], at[j], by[i], by[j]] as [Place, Place, Place, Place];
      const x = p.x - q.x, y = p.y - q.y;
      const push = PUSH / (x * x + y * y + 400);
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
function apart(nodes: Net["nodes"], at: Place[]): void {
  for (let i = 0; i < nodes.length; i++)
    for (let j = i + 1; j < nodes.length; j++) {
      const [a, b, p, q] = [nodes[i], nodes[j], at[i], at[j]];
      if (!a || !b || !p || !q) continue;
      const x = (a.width + b.width) / 2 + MARGIN - Math.abs(p.x - q.x), y = (a.height + b.height) / 2 + MARGIN - Math.abs(p.y - q.y);
      if (x <= 0 || y <= 0) continue;
      const [alongX, alongY] = x < y ? [x * (p.x < q.x ? -1 : 1), 0] : [0, y * (p.y < q.y ? -1 : 1)];
      p.x += alongX / 2; p.y += alongY / 2;
      q.x -= alongX / 2; q.y -= alongY / 2;
    }
}
