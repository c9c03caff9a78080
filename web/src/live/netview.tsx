// A net of nodes and edges that can be moved and made larger: with the mouse, by touch, and by the keyboard.

import type { JSX, TargetedPointerEvent } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { laidOut, type Place } from "./forces";
import { useWidth } from "./measured";
import type { Edge, Net, Node } from "./net";

const HEIGHT = 460, NARROW = 340, FEW = 280;

interface View {
  x: number;
  y: number;
  zoom: number;
}

interface NetProps {
  net: Net;
  chosen: string | null;
  fresh: ReadonlySet<string>;
  onChoose: (key: string | null) => void;
  label: string;
}

export function NetView({ net, chosen, fresh, onChoose, label }: NetProps): JSX.Element {
  const [frame, width] = useWidth();
  const height = net.nodes.length < 8 ? FEW : width < 500 ? NARROW : HEIGHT;
  const placed = useRef<Map<string, Place>>(new Map());
  const [moved, setMoved] = useState(0);
  const [view, setView] = useState<View | null>(null);
  const drag = useRef<{ key: string | null; x: number; y: number; far: number } | null>(null);
  const shape = net.nodes.map(({ key }) => key).join("\u0001");
  const places = useMemo(() => (placed.current = laidOut(net, placed.current)), [shape, net.edges.length]);
  const fit = useMemo(() => fitted(net, places, width, height), [places, width, height]);
  const { x, y, zoom } = view ?? fit;
  const at = (key: string): Place => placed.current.get(key) ?? { x: 0, y: 0 };
  void moved;

  const larger = (by: number, about?: { x: number; y: number }): void => {
    const next = Math.min(4, Math.max(0.15, zoom * by));
    const { x: cx, y: cy } = about ?? { x: width / 2, y: height / 2 };
    setView({ zoom: next, x: cx - ((cx - x) * next) / zoom, y: cy - ((cy - y) * next) / zoom });
  };
  const wheel = useRef<(event: WheelEvent) => void>(() => {});
  wheel.current = (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = frame.current?.getBoundingClientRect();
    larger(event.deltaY < 0 ? 1.15 : 1 / 1.15, { x: event.clientX - (box?.left ?? 0), y: event.clientY - (box?.top ?? 0) });
  };
  useEffect(() => {
    const there = frame.current;
    const turned = (event: WheelEvent): void => wheel.current(event);
    there?.addEventListener("wheel", turned, { passive: false });
    return () => there?.removeEventListener("wheel", turned);
  }, []);
  const down = (event: TargetedPointerEvent<SVGSVGElement>): void => {
    const key = (event.target as Element).closest<SVGGElement>("[data-key]")?.dataset.key ?? null;
    drag.current = { key, x: event.clientX, y: event.clientY, far: 0 };
    event.currentTarget.setPointerCapture(event.pointerId);
  };
  const move = (event: TargetedPointerEvent<SVGSVGElement>): void => {
    const now = drag.current;
    if (!now) return;
    const [dx, dy] = [event.clientX - now.x, event.clientY - now.y];
    now.far += Math.abs(dx) + Math.abs(dy);
    [now.x, now.y] = [event.clientX, event.clientY];
    if (now.far < 4) return;
    if (!now.key) return setView({ x: x + dx, y: y + dy, zoom });
    const was = at(now.key);
    placed.current.set(now.key, { x: was.x + dx / zoom, y: was.y + dy / zoom });
    setView({ x, y, zoom });
    setMoved((count) => count + 1);
  };
  const up = (): void => {
    const now = drag.current;
    drag.current = null;
    if (now && now.far < 4) onChoose(now.key);
  };
  const keys = (event: KeyboardEvent): void => {
    const steps: Record<string, [number, number]> = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
    const step = steps[event.key];
    if (step) setView({ x: x + step[0], y: y + step[1], zoom });
    else if (event.key === "+") larger(1.25);
    else if (event.key === "-") larger(0.8);
    else if (event.key === "0") setView(null);
    else if (event.key === "Escape") onChoose(null);
    else return;
    event.preventDefault();
  };
  return (
    <div class="net" ref={frame} role="group" aria-label={label} tabIndex={0} onKeyDown={keys}>
      {width > 0 && (
        <svg width={width} height={height} onPointerDown={down} onPointerMove={move} onPointerUp={up} onPointerCancel={() => (drag.current = null)}>
          <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="arrow" d="M0 0L8 4L0 8z" /></marker></defs>
          <g transform={`translate(${x} ${y}) scale(${zoom})`}>
            {net.edges.map((edge) => <EdgeDrawn key={edge.key} edge={edge} net={net} at={at} />)}
            {net.nodes.map((node) => (
              <NodeDrawn key={node.key} node={node} at={at(node.key)} chosen={chosen === node.key} fresh={fresh.has(node.key)} onChoose={() => onChoose(node.key)} />
            ))}
          </g>
        </svg>
      )}
      <div class="net-acts" role="group" aria-label="Size">
        <button type="button" onClick={() => larger(1.25)} title="Larger (+)" aria-label="Larger">+</button>
        <button type="button" onClick={() => larger(0.8)} title="Smaller (−)" aria-label="Smaller">−</button>
        <button type="button" onClick={() => setView(null)} title="All of it (0)">Fit</button>
      </div>
    </div>
  );
}

function fitted({ nodes }: Net, places: ReadonlyMap<string, Place>, width: number, height: number): View {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const node of nodes) {
    const { x, y } = places.get(node.key) ?? { x: 0, y: 0 };
    left = Math.min(left, x - node.width / 2); right = Math.max(right, x + node.width / 2);
    top = Math.min(top, y - node.height / 2); bottom = Math.max(bottom, y + node.height / 2);
  }
  if (!nodes.length) return { x: width / 2, y: height / 2, zoom: 1 };
  const zoom = Math.min(1.25, (width - 40) / (right - left), (height - 40) / (bottom - top));
  return { zoom, x: width / 2 - (zoom * (left + right)) / 2, y: height / 2 - (zoom * (top + bottom)) / 2 };
}

/** Where the line from the middle of a box to another place leaves the box. */
function border({ width, height }: Node, from: Place, to: Place): Place {
  const x = to.x - from.x, y = to.y - from.y;
  const part = Math.min(Math.abs(width / 2 / (x || 1e-6)), Math.abs(height / 2 / (y || 1e-6)));
  return part >= 1 ? from : { x: from.x + x * part, y: from.y + y * part };
}

function EdgeDrawn({ edge: { from, to, label }, net, at }: { edge: Edge; net: Net; at: (key: string) => Place }): JSX.Element | null {
  const [a, b] = [net.nodes[from], net.nodes[to]];
  if (!a || !b) return null;
  const [p, q] = [at(a.key), at(b.key)];
  if (from === to) {
    const [left, top] = [p.x - 12, p.y - a.height / 2];
    return <g class="edge"><path d={`M${left} ${top}c-14 -34 38 -34 24 0`} marker-end="url(#arrow)" /><text x={p.x} y={top - 28}>{label}</text></g>;
  }
  const [start, end] = [border(a, p, q), border(b, q, p)];
  const back = net.edges.some((other) => other.from === to && other.to === from);
  const [mx, my] = [(start.x + end.x) / 2, (start.y + end.y) / 2];
  const far = Math.hypot(q.x - p.x, q.y - p.y) || 1;
  const bend = back ? 26 : 0;
  const [cx, cy] = [mx - ((q.y - p.y) / far) * bend, my + ((q.x - p.x) / far) * bend];
  return (
    <g class="edge">
      <path d={`M${start.x} ${start.y}Q${cx} ${cy} ${end.x} ${end.y}`} marker-end="url(#arrow)" />
      <text x={(mx + cx) / 2} y={(my + cy) / 2 - 3}>{label}</text>
    </g>
  );
}

function NodeDrawn({ node, at, chosen, fresh, onChoose }: { node: Node; at: Place; chosen: boolean; fresh: boolean; onChoose: () => void }): JSX.Element {
  const kind = node.leaf ? "leaf" : node.term.type === "bnode" ? "blank" : "iri";
  return (
    <g class={`node ${kind}${chosen ? " chosen" : ""}${fresh ? " fresh" : ""}`} data-key={node.key} transform={`translate(${at.x} ${at.y})`}
      tabindex={node.leaf ? undefined : 0} role={node.leaf ? undefined : "button"} aria-pressed={node.leaf ? undefined : chosen} aria-label={node.leaf ? undefined : `${node.label}: its triples`}
      onKeyDown={(event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); onChoose(); } }}>
      <rect x={-node.width / 2} y={-node.height / 2} width={node.width} height={node.height} rx={node.leaf ? 2 : node.height / 2} />
      <text y="4">{node.label}</text>
      <title>{node.term.value}</title>
    </g>
  );
}
