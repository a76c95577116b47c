import type { Signal } from "@preact/signals";
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { boxAt, type Boxes, boxesOf, eachBox, type Span } from "../icicle";
import { inkOn, type Theme } from "../palette";
import { ink, theme } from "../theme";
import { childrenOf, lineage, type Tree } from "../tree";

const ROW_PX = 24;
const LEAST_PX = 0.5;
const LEAST_NAMED_PX = 34;
// Deeper rows are there once they are zoomed to.
const ROWS_AT_MOST = 22;
const ZOOM_MS = 180;
export const LONGEST_NAME = 120;

/** How a box looks: in one colour, with a pattern over it where that says more. */
export interface Fill {
  color: string;
  hatched?: boolean;
  /** What else is told of it where there is room for that. */
  more?: string;
}

interface Props {
  tree: Tree;
  /** What is in the boxes changes with this alone. */
  boxes: Boxes;
  whole: string;
  label: string;
  zoomed: Signal<number>;
  selected: Signal<number | null>;
  fill: (index: number, theme: Theme) => Fill;
  said: (index: number) => string;
}

/** A tree as boxes, one in another: zoomed by a click, walked through by keys. */
export function BoxCanvas({ tree, boxes, whole, label, zoomed, selected, fill, said }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const cursor = useSignal<number | null>(null);
  const now = zoomed.value;
  const top = tree.places[now]!.depth;
  const rows = rowsBelow(tree, now);
  useDrawing(canvas, { tree, boxes, whole, fill, zoomed: now, cursor: cursor.value, top, rows });
  const at = (event: MouseEvent): number | null => {
    const box = canvas.current!.getBoundingClientRect();
    const depth = top + Math.floor((event.clientY - box.top) / ROW_PX);
    return boxAt(tree, boxes, spanOf(boxes, now), box.width, event.clientX - box.left, depth);
  };
  const zoom = (index: number | null) => {
    if (index === null) return;
    zoomed.value = index === now ? Math.max(0, tree.places[index]!.parent) : index;
    selected.value = null;
  };
  return (
    <>
      <p class="way">
        {lineage(tree, now).map((index) => (
          <button key={index} type="button" class="node" onClick={() => (zoomed.value = index)}>
            <bdi>{index ? tree.places[index]!.name : whole}</bdi>
          </button>
        ))}
      </p>
      <canvas
        ref={canvas}
        class="icicle"
        tabIndex={0}
        role="application"
        aria-label={label}
        style={{ height: `${rows * ROW_PX}px` }}
        onMouseMove={(event) => (cursor.value = at(event))}
        onMouseLeave={() => (cursor.value = null)}
        onClick={(event) => zoom(at(event))}
        onDblClick={(event) => (selected.value = at(event) || null)}
        onKeyDown={(event) => steer(event, tree, cursor, zoomed, selected)}
      />
      <p class="said" aria-live="polite">
        {said(cursor.value ?? now)}
      </p>
    </>
  );
}

/** The boxes of a tree, worked out once. */
export function useBoxes(tree: Tree): Boxes {
  return useMemo(() => boxesOf(tree), [tree]);
}

function steer(
  event: KeyboardEvent,
  tree: Tree,
  cursor: Signal<number | null>,
  zoomed: Signal<number>,
  selected: Signal<number | null>,
): void {
  const top = zoomed.value;
  const now = cursor.value ?? top;
  const siblings = now > 0 ? childrenOf(tree, tree.places[now]!.parent) : [now];
  const beside = (step: number) => siblings[siblings.indexOf(now) + step] ?? now;
  const moves: Record<string, () => void> = {
    ArrowDown: () => (cursor.value = childrenOf(tree, now)[0] ?? now),
    ArrowUp: () => (cursor.value = now === top ? now : tree.places[now]!.parent),
    ArrowRight: () => (cursor.value = now === top ? now : beside(1)),
    ArrowLeft: () => (cursor.value = now === top ? now : beside(-1)),
    Enter: () => (zoomed.value = now),
    Escape: () => (zoomed.value = Math.max(0, tree.places[top]!.parent)),
    " ": () => (selected.value = now || null),
  };
  const move = moves[event.key];
  if (!move) return;
  event.preventDefault();
  if (event.key === "Escape" && selected.value === null) event.stopPropagation();
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

interface Drawing {
  tree: Tree;
  boxes: Boxes;
  whole: string;
  fill: (index: number, theme: Theme) => Fill;
  zoomed: number;
  cursor: number | null;
  top: number;
  rows: number;
}

/** Draws now, and on the way from one zoom to the next. */
function useDrawing(canvas: { current: HTMLCanvasElement | null }, drawing: Drawing): void {
  const { boxes, zoomed, cursor, rows } = drawing;
  const last = useRef<Span>(spanOf(boxes, zoomed));
  const colors = theme.value;
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
      paint(element, drawing, last.current, colors);
      if (done < 1) frame = requestAnimationFrame(step);
    };
    step(began);
    const watcher = new ResizeObserver(() => paint(element, drawing, last.current, colors));
    watcher.observe(element);
    return () => {
      cancelAnimationFrame(frame);
      watcher.disconnect();
    };
  }, [boxes, zoomed, cursor, colors, rows]);
}

/** A canvas's context, for as many pixels as it has on the screen, in pixels of the page. */
export function contextOf(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
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
  return context;
}

function paint(canvas: HTMLCanvasElement, drawing: Drawing, span: Span, colors: Theme): void {
  const { tree, boxes, top, rows, cursor, fill, whole } = drawing;
  const width = canvas.clientWidth;
  const context = contextOf(canvas);
  const mark = ink("ink");
  const raised = ink("raised");
  eachBox(tree, boxes, span, width, LEAST_PX, (index, leftPx, boxPx) => {
    const place = tree.places[index]!;
    const row = place.depth - top;
    if (row < 0 || row >= rows) return;
    const left = Math.max(0, leftPx);
    const right = Math.min(width, leftPx + boxPx);
    const { color, hatched, more } = index ? fill(index, colors) : { color: raised };
    context.fillStyle = color;
    // A hairline of paper between boxes; the thinnest ones have none to give.
    const wide = Math.max(LEAST_PX, right - left - (boxPx > 3 ? 1 : 0));
    context.fillRect(left, row * ROW_PX, wide, ROW_PX - 1);
    if (hatched && wide > 2) hatch(context, left, row * ROW_PX, wide, ROW_PX - 1, color);
    if (right - left >= LEAST_NAMED_PX) {
      const paper = inkOn(color);
      context.fillStyle = index && color[0] === "#" ? paper : mark;
      const name = index ? place.name : whole;
      const said = more ? `${name}  ${more}` : name;
      const room = right - left - 10;
      const text = context.measureText(said.slice(0, 2 * LONGEST_NAME)).width <= room ? said : fitted(context, name, room);
      if (hatched && text) behind(context, text, left + 3, row * ROW_PX, color);
      context.fillText(text, left + 5, row * ROW_PX + ROW_PX / 2);
    }
    if (index === cursor) {
      context.strokeStyle = mark;
      context.lineWidth = 2;
      context.strokeRect(left + 1, row * ROW_PX + 1, Math.max(1, right - left - 3), ROW_PX - 3);
    }
  });
}

const HATCH_PX = 6;

/** Slanted lines over a box: of what cannot be told, no colour may speak. */
function hatch(context: CanvasRenderingContext2D, x: number, y: number, width: number, height: number, color: string): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.beginPath();
  for (let at = Math.floor((x - height) / HATCH_PX) * HATCH_PX; at < x + width; at += HATCH_PX) {
    context.moveTo(at, y + height);
    context.lineTo(at + height, y);
  }
  context.strokeStyle = inkOn(color);
  context.globalAlpha = 0.28;
  context.lineWidth = 1;
  context.stroke();
  context.restore();
}

/** Room for letters on what is hatched. */
function behind(context: CanvasRenderingContext2D, text: string, left: number, top: number, color: string): void {
  const before = context.fillStyle;
  context.fillStyle = color;
  context.fillRect(left, top + 3, context.measureText(text).width + 4, ROW_PX - 7);
  context.fillStyle = before;
}

/** As much of a name as there is room for. */
export function fitted(context: CanvasRenderingContext2D, name: string, room: number): string {
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
