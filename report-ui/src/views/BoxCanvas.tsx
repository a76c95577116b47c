import type { Signal } from "@preact/signals";
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { boxAt, type Boxes, boxesOf, eachBox, type Span } from "../icicle";
import { inkOn, type Theme } from "../palette";
import { ink, theme } from "../theme";
import { childrenOf, lineage, type Tree } from "../tree";

const ROW_PX = 24;
const MIN_PX = 0.5;
const MIN_NAMED_PX = 34;
// Deeper rows appear when the reader zooms in.
const MAX_ROWS = 12;
// Boxes narrower than a pixel on any screen need no row.
const MIN_PART = 1 / 4000;
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
  /** The content of the boxes changes only with this. */
  boxes: Boxes;
  rootTitle: string;
  label: string;
  /** The index of the box that nothing zooms out of. */
  home?: number;
  zoomed: Signal<number>;
  selected: Signal<number | null>;
  fill: (index: number, theme: Theme) => Fill;
  describe: (index: number) => string;
}

/** A tree as nested boxes: a click selects, a double click zooms, keys move. */
export function BoxCanvas({ tree, boxes, rootTitle, label, home = 0, zoomed, selected, fill, describe }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const card = useRef<HTMLDivElement>(null);
  const cursor = useSignal<number | null>(null);
  const root = zoomed.value;
  const top = tree.items[root]!.depth;
  const rows = rowsBelow(tree, boxes, root);
  const selectedIndex = selected.value;
  useDrawing(canvas, { tree, boxes, rootTitle, home, fill, zoomed: root, cursor: cursor.value, selected: selectedIndex, top, rows });
  const boxUnder = (event: MouseEvent): number | null => {
    const box = canvas.current!.getBoundingClientRect();
    const depth = top + Math.floor((event.clientY - box.top) / ROW_PX);
    return boxAt(tree, boxes, spanOf(boxes, root), box.width, event.clientX - box.left, depth);
  };
  // Both clicks of a double click are on the same box: nothing may move, or open over it, before the second.
  const timer = useRef(0);
  const select = (index: number | null) => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => (selected.value = index === null || index === home ? null : index), DOUBLE_MS);
  };
  const zoom = (index: number | null) => {
    clearTimeout(timer.current);
    if (index === null) return;
    zoomed.value = index === root && root !== home ? tree.items[index]!.parent : index;
    selected.value = null;
  };
  const hover = (event: MouseEvent | null) => {
    cursor.value = event && boxUnder(event);
    if (card.current && event) placeCard(card.current, event);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  const from = tree.items[home]!.depth;
  return (
    <>
      <p class="way">
        {(root === home ? [] : lineage(tree, root).slice(from))
          .map((index) => (
            <button key={index} type="button" class="node" onClick={() => (zoomed.value = index)}>
              <bdi>{index === home ? rootTitle : tree.items[index]!.name}</bdi>
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
        onClick={(event) => event.detail < 2 && select(boxUnder(event))}
        onDblClick={(event) => zoom(boxUnder(event))}
        onKeyDown={(event) => steer(event, tree, cursor, zoomed, selected, home)}
      />
      <p class="readout" aria-live="polite">
        {cursor.value === null && root === home ? "" : describe(cursor.value ?? root)}
      </p>
      <div ref={card} class="card" hidden={cursor.value === null} aria-hidden="true">
        {cursor.value === null ? "" : describe(cursor.value)}
      </div>
    </>
  );
}

/** The boxes of a tree, computed once. */
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
  const current = cursor.value ?? top;
  const siblings = current !== home ? childrenOf(tree, tree.items[current]!.parent) : [current];
  const sibling = (step: number) => siblings[siblings.indexOf(current) + step] ?? current;
  const moves: Record<string, () => void> = {
    ArrowDown: () => (cursor.value = childrenOf(tree, current)[0] ?? current),
    ArrowUp: () => (cursor.value = current === top ? current : tree.items[current]!.parent),
    ArrowRight: () => (cursor.value = current === top ? current : sibling(1)),
    ArrowLeft: () => (cursor.value = current === top ? current : sibling(-1)),
    Enter: () => (zoomed.value = current),
    Escape: () => (zoomed.value = top === home ? home : tree.items[top]!.parent),
    " ": () => (selected.value = current || null),
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
  const { depth, end } = tree.items[index]!;
  const minSize = boxes.size[index]! * MIN_PART;
  let deepest = depth;
  for (let i = index + 1; i < end; i += 1) {
    if (boxes.size[i]! > minSize) deepest = Math.max(deepest, tree.items[i]!.depth);
  }
  return Math.min(MAX_ROWS, deepest - depth + 1);
}

interface Drawing {
  tree: Tree;
  boxes: Boxes;
  rootTitle: string;
  home: number;
  fill: (index: number, theme: Theme) => Fill;
  zoomed: number;
  cursor: number | null;
  selected: number | null;
  top: number;
  rows: number;
}

/** Draws now, and while the zoom changes. */
function useDrawing(canvas: { current: HTMLCanvasElement | null }, drawing: Drawing): void {
  const { boxes, zoomed, cursor, selected, rows } = drawing;
  const last = useRef<Span>(spanOf(boxes, zoomed));
  const colors = theme.value;
  useLayoutEffect(() => {
    const element = canvas.current!;
    const start = last.current;
    const to = spanOf(boxes, zoomed);
    const began = performance.now();
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches || start.size === to.size;
    let frame = 0;
    const step = (time: number) => {
      const done = isStill ? 1 : Math.min(1, Math.max(0, time - began) / ZOOM_MS);
      const eased = 1 - (1 - done) ** 3;
      last.current = {
        start: start.start + (to.start - start.start) * eased,
        size: start.size + (to.size - start.size) * eased,
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
  }, [boxes, zoomed, cursor, selected, colors, rows]);
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
  const { tree, boxes, top, rows, cursor, selected, fill, home, rootTitle } = drawing;
  const width = canvas.clientWidth;
  const context = contextOf(canvas);
  const mark = ink("ink");
  const raised = ink("raised");
  eachBox(tree, boxes, span, width, MIN_PX, (index, leftPx, boxPx) => {
    const item = tree.items[index]!;
    const row = item.depth - top;
    if (row < 0 || row >= rows) return;
    const left = Math.max(0, leftPx);
    const right = Math.min(width, leftPx + boxPx);
    const { color, hatched, more } = index === home ? { color: raised } : fill(index, colors);
    context.fillStyle = color;
    // A hairline of background between boxes, except for the thinnest.
    const wide = Math.max(MIN_PX, right - left - (boxPx > 3 ? 1 : 0));
    context.fillRect(left, row * ROW_PX, wide, ROW_PX - 1);
    if (hatched && wide > 2) hatch(context, left, row * ROW_PX, wide, ROW_PX - 1, color);
    if (right - left >= MIN_NAMED_PX) {
      const paper = inkOn(color);
      context.fillStyle = index !== home && color[0] === "#" ? paper : mark;
      const name = index === home ? rootTitle : item.name;
      const label = more ? `${name}  ${more}` : name;
      const room = right - left - 10;
      const text = context.measureText(label.slice(0, 2 * LONGEST_NAME)).width <= room ? label : fitText(context, name, room);
      if (hatched && text) clearBehind(context, text, left + 3, row * ROW_PX, color);
      context.fillText(text, left + 5, row * ROW_PX + ROW_PX / 2);
    }
    if (row + 1 < rows) drawSelf(context, tree, boxes, index, { left: leftPx, width: boxPx, row, screen: width });
    if (index === cursor || index === selected) {
      context.strokeStyle = mark;
      context.lineWidth = 2;
      context.strokeRect(left + 1, row * ROW_PX + 1, Math.max(1, right - left - 3), ROW_PX - 3);
    }
  });
}

/** The self time of a box with children: the rest of the row below it, at the right end. */
function drawSelf(
  context: CanvasRenderingContext2D,
  tree: Tree,
  boxes: Boxes,
  index: number,
  { left, width, row, screen }: { left: number; width: number; row: number; screen: number },
): void {
  const part = boxes.self[index]! / (boxes.size[index]! || 1);
  const item = tree.items[index]!;
  if (item.end === index + 1 || item.isSampled || part * width < 3) return;
  const from = Math.max(0, left + width * (1 - part));
  const to = Math.min(screen, left + width);
  if (to - from < 3) return;
  context.fillStyle = ink("raised");
  context.fillRect(from, (row + 1) * ROW_PX, to - from - 1, ROW_PX - 1);
  if (to - from < MIN_NAMED_PX) return;
  context.fillStyle = ink("soft");
  context.fillText(fitText(context, "[self]", to - from - 10), from + 5, (row + 1) * ROW_PX + ROW_PX / 2);
}

/** Puts a card next to the mouse, inside the window. */
function placeCard(card: HTMLElement, event: MouseEvent): void {
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
  for (let left = Math.floor((x - height) / HATCH_PX) * HATCH_PX; left < x + width; left += HATCH_PX) {
    context.moveTo(left, y + height);
    context.lineTo(left + height, y);
  }
  context.strokeStyle = inkOn(color);
  context.globalAlpha = 0.28;
  context.lineWidth = 1;
  context.stroke();
  context.restore();
}

/** A plain background for letters on hatching. */
function clearBehind(context: CanvasRenderingContext2D, text: string, left: number, top: number, color: string): void {
  const before = context.fillStyle;
  context.fillStyle = color;
  context.fillRect(left, top + 3, context.measureText(text).width + 4, ROW_PX - 7);
  context.fillStyle = before;
}

/** The part of a name that fits. */
export function fitText(context: CanvasRenderingContext2D, name: string, room: number): string {
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
