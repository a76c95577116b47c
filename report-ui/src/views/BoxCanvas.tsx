import type { Signal } from "@preact/signals";
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { boxAt, type Boxes, boxesOf, eachBox, type Span } from "../icicle";
import { inkOn, type Theme } from "../palette";
import { ink, theme } from "../theme";
import { childrenOf, lineage, type Tree } from "../tree";

const ROW_PX = 24;
const LEAST_PX = 0.5;
const LEAST_NAMED_PX = 34;
// Deeper rows are there once they are zoomed to.
const ROWS_AT_MOST = 12;
// Boxes too small for a pixel on any screen need no row.
const LEAST_PART = 1 / 4000;
const ZOOM_MS = 180;
const DOUBLE_MS = 250;
export const LONGEST_NAME = 120;

/** The fill of a box: a colour, possibly with a pattern over it. */
export interface Fill {
  color: string;
  hatched?: boolean;
  /** Further text of the box, if there is room. */
  more?: string;
}

interface Props {
  tree: Tree;
  /** What is in the boxes changes with this alone. */
  boxes: Boxes;
  whole: string;
  label: string;
  /** The place that nothing zooms out of. */
  home?: number;
  zoomed: Signal<number>;
  selected: Signal<number | null>;
  fill: (index: number, theme: Theme) => Fill;
  describe: (index: number) => string;
}

/** A tree as nested boxes: a click selects, a double click zooms, keys move. */
export function BoxCanvas({ tree, boxes, whole, label, home = 0, zoomed, selected, fill, describe }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const card = useRef<HTMLDivElement>(null);
  const cursor = useSignal<number | null>(null);
  const now = zoomed.value;
  const top = tree.places[now]!.depth;
  const rows = rowsBelow(tree, boxes, now);
  const chosen = selected.value;
  useDrawing(canvas, { tree, boxes, whole, home, fill, zoomed: now, cursor: cursor.value, chosen, top, rows });
  const at = (event: MouseEvent): number | null => {
    const box = canvas.current!.getBoundingClientRect();
    const depth = top + Math.floor((event.clientY - box.top) / ROW_PX);
    return boxAt(tree, boxes, spanOf(boxes, now), box.width, event.clientX - box.left, depth);
  };
  // Of a double click both clicks are on the same box: nothing may move, or open over it, before the second.
  const waiting = useRef(0);
  const select = (index: number | null) => {
    clearTimeout(waiting.current);
    waiting.current = window.setTimeout(() => (selected.value = index === null || index === home ? null : index), DOUBLE_MS);
  };
  const zoom = (index: number | null) => {
    clearTimeout(waiting.current);
    if (index === null) return;
    zoomed.value = index === now && now !== home ? tree.places[index]!.parent : index;
    selected.value = null;
  };
  const hover = (event: MouseEvent | null) => {
    cursor.value = event && at(event);
    if (card.current && event) place(card.current, event);
  };
  useEffect(() => () => clearTimeout(waiting.current), []);
  const from = tree.places[home]!.depth;
  return (
    <>
      <p class="way">
        {(now === home ? [] : lineage(tree, now).slice(from))
          .map((index) => (
            <button key={index} type="button" class="node" onClick={() => (zoomed.value = index)}>
              <bdi>{index === home ? whole : tree.places[index]!.name}</bdi>
            </button>
          ))}
      </p>
      <canvas
        ref={canvas}
        class="icicle"
        tabIndex={0}
        role="application"
        aria-label={label}
        style={{ height: `${Math.max(rows, rowsBelow(tree, boxes, home)) * ROW_PX}px` }}
        onMouseMove={(event) => hover(event)}
        onMouseLeave={() => hover(null)}
        onClick={(event) => event.detail < 2 && select(at(event))}
        onDblClick={(event) => zoom(at(event))}
        onKeyDown={(event) => steer(event, tree, cursor, zoomed, selected, home)}
      />
      <p class="readout" aria-live="polite">
        {cursor.value === null && now === home ? "" : describe(cursor.value ?? now)}
      </p>
      <div ref={card} class="card" hidden={cursor.value === null} aria-hidden="true">
        {cursor.value === null ? "" : describe(cursor.value)}
      </div>
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
  home: number,
): void {
  const top = zoomed.value;
  const now = cursor.value ?? top;
  const siblings = now !== home ? childrenOf(tree, tree.places[now]!.parent) : [now];
  const sibling = (step: number) => siblings[siblings.indexOf(now) + step] ?? now;
  const moves: Record<string, () => void> = {
    ArrowDown: () => (cursor.value = childrenOf(tree, now)[0] ?? now),
    ArrowUp: () => (cursor.value = now === top ? now : tree.places[now]!.parent),
    ArrowRight: () => (cursor.value = now === top ? now : sibling(1)),
    ArrowLeft: () => (cursor.value = now === top ? now : sibling(-1)),
    Enter: () => (zoomed.value = now),
    Escape: () => (zoomed.value = top === home ? home : tree.places[top]!.parent),
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

/** The number of visible levels of boxes. */
function rowsBelow(tree: Tree, boxes: Boxes, index: number): number {
  const { depth, end } = tree.places[index]!;
  const least = boxes.size[index]! * LEAST_PART;
  let deepest = depth;
  for (let at = index + 1; at < end; at += 1) {
    if (boxes.size[at]! > least) deepest = Math.max(deepest, tree.places[at]!.depth);
  }
  return Math.min(ROWS_AT_MOST, deepest - depth + 1);
}

interface Drawing {
  tree: Tree;
  boxes: Boxes;
  whole: string;
  home: number;
  fill: (index: number, theme: Theme) => Fill;
  zoomed: number;
  cursor: number | null;
  chosen: number | null;
  top: number;
  rows: number;
}

/** Draws now, and on the way from one zoom to the next. */
function useDrawing(canvas: { current: HTMLCanvasElement | null }, drawing: Drawing): void {
  const { boxes, zoomed, cursor, chosen, rows } = drawing;
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
  }, [boxes, zoomed, cursor, chosen, colors, rows]);
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
  const { tree, boxes, top, rows, cursor, chosen, fill, home, whole } = drawing;
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
    const { color, hatched, more } = index === home ? { color: raised } : fill(index, colors);
    context.fillStyle = color;
    // A hairline of background between boxes, except for the thinnest.
    const wide = Math.max(LEAST_PX, right - left - (boxPx > 3 ? 1 : 0));
    context.fillRect(left, row * ROW_PX, wide, ROW_PX - 1);
    if (hatched && wide > 2) hatch(context, left, row * ROW_PX, wide, ROW_PX - 1, color);
    if (right - left >= LEAST_NAMED_PX) {
      const paper = inkOn(color);
      context.fillStyle = index !== home && color[0] === "#" ? paper : mark;
      const name = index === home ? whole : place.name;
      const label = more ? `${name}  ${more}` : name;
      const room = right - left - 10;
      const text = context.measureText(label.slice(0, 2 * LONGEST_NAME)).width <= room ? label : fitted(context, name, room);
      if (hatched && text) behind(context, text, left + 3, row * ROW_PX, color);
      context.fillText(text, left + 5, row * ROW_PX + ROW_PX / 2);
    }
    if (row + 1 < rows) own(context, tree, boxes, index, { left: leftPx, width: boxPx, row, screen: width });
    if (index === cursor || index === chosen) {
      context.strokeStyle = mark;
      context.lineWidth = 2;
      context.strokeRect(left + 1, row * ROW_PX + 1, Math.max(1, right - left - 3), ROW_PX - 3);
    }
  });
}

/** The self time of a box that has others in it: what is left of its row's next one, at the right end. */
function own(
  context: CanvasRenderingContext2D,
  tree: Tree,
  boxes: Boxes,
  index: number,
  { left, width, row, screen }: { left: number; width: number; row: number; screen: number },
): void {
  const part = boxes.self[index]! / (boxes.size[index]! || 1);
  const place = tree.places[index]!;
  if (place.end === index + 1 || place.isSampled || part * width < 3) return;
  const from = Math.max(0, left + width * (1 - part));
  const to = Math.min(screen, left + width);
  if (to - from < 3) return;
  context.fillStyle = ink("raised");
  context.fillRect(from, (row + 1) * ROW_PX, to - from - 1, ROW_PX - 1);
  if (to - from < LEAST_NAMED_PX) return;
  context.fillStyle = ink("soft");
  context.fillText(fitted(context, "[self]", to - from - 10), from + 5, (row + 1) * ROW_PX + ROW_PX / 2);
}

/** Puts a card where the mouse is, and never out of the window. */
function place(card: HTMLElement, event: MouseEvent): void {
  const isRight = event.clientX > innerWidth / 2;
  card.style.left = isRight ? "auto" : `${event.clientX + 14}px`;
  card.style.right = isRight ? `${document.documentElement.clientWidth - event.clientX + 14}px` : "auto";
  card.style.top = `${Math.min(event.clientY + 16, innerHeight - 70)}px`;
}

const HATCH_PX = 6;

/** Slanted lines over a box whose result is uncertain, instead of a colour. */
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
