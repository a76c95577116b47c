import { useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { ink } from "../charts/Plot";
import * as format from "../format";
import { boxAt, type Boxes, boxesOf, eachBox, type Span } from "../icicle";
import { colorOf, inkOn, type Theme } from "../palette";
import type { State } from "../state";
import { theme } from "../theme";
import { childrenOf, lineage, type Tree } from "../tree";

const ROW_PX = 24;
const LEAST_PX = 0.5;
const LEAST_NAMED_PX = 34;
// Deeper rows are there once they are zoomed to.
const ROWS_AT_MOST = 22;
const ZOOM_MS = 180;
const LONGEST_NAME = 120;

/** The tree as boxes: as wide as the time in them, what they consist of below. */
export function Icicle({ state }: { state: State }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const boxes = useMemo(() => boxesOf(state.tree), [state]);
  const cursor = useSignal<number | null>(null);
  const zoomed = state.zoomed.value;
  const top = state.tree.places[zoomed]!.depth;
  const rows = rowsBelow(state.tree, zoomed);
  useDrawing(canvas, state, boxes, cursor.value, top, rows);
  const at = (event: MouseEvent): number | null => {
    const box = canvas.current!.getBoundingClientRect();
    const depth = top + Math.floor((event.clientY - box.top) / ROW_PX);
    return boxAt(state.tree, boxes, spanOf(boxes, zoomed), box.width, event.clientX - box.left, depth);
  };
  const zoom = (index: number | null) => {
    if (index === null) return;
    state.zoomed.value = index === zoomed ? Math.max(0, state.tree.places[index]!.parent) : index;
    state.selected.value = null;
  };
  return (
    <>
      <Way state={state} />
      <canvas
        ref={canvas}
        class="icicle"
        tabIndex={0}
        role="application"
        aria-label="The tree as boxes: arrows move, Enter zooms in, Escape zooms out, Space shows the details"
        style={{ height: `${rows * ROW_PX}px` }}
        onMouseMove={(event) => (cursor.value = at(event))}
        onMouseLeave={() => (cursor.value = null)}
        onClick={(event) => zoom(at(event))}
        onDblClick={(event) => (state.selected.value = at(event) || null)}
        onKeyDown={(event) => steer(event, state, cursor, zoomed)}
      />
      <p class="said" aria-live="polite">
        {said(state, boxes, cursor.value ?? zoomed)}
      </p>
      <Legend state={state} />
    </>
  );
}

function Way({ state }: { state: State }) {
  return (
    <p class="way">
      {lineage(state.tree, state.zoomed.value).map((index) => (
        <button key={index} type="button" class="node" onClick={() => (state.zoomed.value = index)}>
          <bdi>{index ? state.tree.places[index]!.name : "the whole run"}</bdi>
        </button>
      ))}
    </p>
  );
}

function Legend({ state }: { state: State }) {
  return (
    <p class="legend">
      {[...state.view.categories, null].map((category) => (
        <span key={category}>
          <i style={{ background: colorOf(category, theme.value) }} />
          {category ?? "other"}
        </span>
      ))}
      <span class="hint">Width: own time of all threads together. Click to zoom, again to go back; double-click for details.</span>
    </p>
  );
}

function said(state: State, boxes: Boxes, index: number): string {
  const { node, name, category } = state.tree.places[index]!;
  const part = format.share(boxes.size[0]! ? boxes.size[index]! / boxes.size[0]! : null);
  if (!index) return `the whole run: ${format.time(boxes.size[0])} in all threads`;
  const pieces = [
    `${name.slice(0, LONGEST_NAME)}: ${format.time(boxes.size[index])}, ${part} of all`,
    `own ${format.time(node.unaccounted_ns)}`,
    `${format.count(node.count)} calls`,
    ...(node.mean_ns === null ? [] : [`mean ${format.time(node.mean_ns)}`]),
    ...(category ? [category] : []),
  ];
  return pieces.join(" · ");
}

function steer(event: KeyboardEvent, state: State, cursor: { value: number | null }, zoomed: number): void {
  const { tree } = state;
  const now = cursor.value ?? zoomed;
  const siblings = now > 0 ? childrenOf(tree, tree.places[now]!.parent) : [now];
  const beside = (step: number) => siblings[siblings.indexOf(now) + step] ?? now;
  const moves: Record<string, () => void> = {
    ArrowDown: () => (cursor.value = childrenOf(tree, now)[0] ?? now),
    ArrowUp: () => (cursor.value = now === zoomed ? now : tree.places[now]!.parent),
    ArrowRight: () => (cursor.value = now === zoomed ? now : beside(1)),
    ArrowLeft: () => (cursor.value = now === zoomed ? now : beside(-1)),
    Enter: () => (state.zoomed.value = now),
    Escape: () => (state.zoomed.value = Math.max(0, tree.places[zoomed]!.parent)),
    " ": () => (state.selected.value = now || null),
  };
  const move = moves[event.key];
  if (!move) return;
  event.preventDefault();
  if (event.key === "Escape" && state.selected.value === null) event.stopPropagation();
  move();
}

function spanOf(boxes: Boxes, index: number): Span {
  return { start: boxes.start[index]!, size: boxes.size[index]! };
}

function rowsBelow(tree: Tree, index: number): number {
  const { depth, end } = tree.places[index]!;
  let deepest = depth;
  for (let at = index + 1; at < end; at += 1) deepest = Math.max(deepest, tree.places[at]!.depth);
  return Math.min(ROWS_AT_MOST, deepest - depth + 1);
}

/** Draws now, and on the way from one zoom to the next. */
function useDrawing(
  canvas: { current: HTMLCanvasElement | null },
  state: State,
  boxes: Boxes,
  cursor: number | null,
  top: number,
  rows: number,
): void {
  const last = useRef<Span>(spanOf(boxes, state.zoomed.value));
  const colors = theme.value;
  const zoomed = state.zoomed.value;
  useLayoutEffect(() => {
    const element = canvas.current!;
    const from = last.current;
    const to = spanOf(boxes, zoomed);
    const began = performance.now();
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches || from.size === to.size;
    let frame = 0;
    const step = (now: number) => {
      const done = isStill ? 1 : Math.min(1, Math.max(0, now - began) / ZOOM_MS);
      const eased = 1 - (1 - done) ** 3;
      last.current = {
        start: from.start + (to.start - from.start) * eased,
        size: from.size + (to.size - from.size) * eased,
      };
      paint(element, state.tree, boxes, { span: last.current, top, rows, cursor, colors });
      if (done < 1) frame = requestAnimationFrame(step);
    };
    step(began);
    const watcher = new ResizeObserver(() => {
      paint(element, state.tree, boxes, { span: last.current, top, rows, cursor, colors });
    });
    watcher.observe(element);
    return () => {
      cancelAnimationFrame(frame);
      watcher.disconnect();
    };
  }, [zoomed, cursor, colors, rows]);
}

interface Look {
  span: Span;
  top: number;
  rows: number;
  cursor: number | null;
  colors: Theme;
}

function paint(canvas: HTMLCanvasElement, tree: Tree, boxes: Boxes, look: Look): void {
  const { clientWidth: width, clientHeight: height } = canvas;
  const ratio = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d")!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = `12px ${ink("font")}`;
  context.textBaseline = "middle";
  const mark = ink("ink");
  eachBox(tree, boxes, look.span, width, LEAST_PX, (index, leftPx, boxPx) => {
    const place = tree.places[index]!;
    const row = place.depth - look.top;
    if (row < 0 || row >= look.rows) return;
    const left = Math.max(0, leftPx);
    const right = Math.min(width, leftPx + boxPx);
    const color = index ? colorOf(place.category, look.colors) : ink("raised");
    context.fillStyle = color;
    // A hairline of paper between boxes; the thinnest ones have none to give.
    context.fillRect(left, row * ROW_PX, Math.max(LEAST_PX, right - left - (boxPx > 3 ? 1 : 0)), ROW_PX - 1);
    if (right - left >= LEAST_NAMED_PX) {
      context.fillStyle = index ? inkOn(color) : mark;
      context.fillText(fitted(context, index ? place.name : "the whole run", right - left - 10), left + 5, row * ROW_PX + ROW_PX / 2);
    }
    if (index === look.cursor) {
      context.strokeStyle = mark;
      context.lineWidth = 2;
      context.strokeRect(left + 1, row * ROW_PX + 1, Math.max(1, right - left - 3), ROW_PX - 3);
    }
  });
}

/** As much of a name as there is room for. */
function fitted(context: CanvasRenderingContext2D, name: string, room: number): string {
  const text = name.length > LONGEST_NAME ? name.slice(0, LONGEST_NAME) : name;
  if (context.measureText(text).width <= room) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= room) low = middle;
    else high = middle - 1;
  }
  return low > 1 ? `${text.slice(0, low)}…` : "";
}
