import { childrenOf, type Tree } from "./tree";
import type { MeanTick } from "./types";

/**
 * The box of each item of the tree: it begins at `start` and is `size` wide, in nanoseconds of all threads together.
 *
 * A box is as wide as the self times of its node and its descendants: so no box is wider than its parent, even if it ran
 * concurrently. Siblings are ordered by name, so that pictures of the same program look alike.
 */
export interface Boxes {
  start: Float64Array;
  size: Float64Array;
  /** The self time of a box, at its right end. */
  self: Float64Array;
}

/** The whole run. */
export function boxesOf(tree: Tree): Boxes {
  const count = tree.items.length;
  const size = new Float64Array(count);
  const self = new Float64Array(count);
  for (let index = count - 1; index >= 0; index -= 1) {
    const item = tree.items[index]!;
    if (item.kind !== "section") continue;
    self[index] = Math.max(0, item.node.self_ns);
    size[index]! += self[index]!;
    if (item.parent >= 0) size[item.parent]! += size[index]!;
  }
  return layOut(tree, size, self);
}

/** A mean tick: sections that are not on the loop's path have no width. */
export function boxesOfTick(tree: Tree, tick: MeanTick): Boxes {
  const size = new Float64Array(tree.items.length);
  const self = new Float64Array(tree.items.length);
  tick.places.forEach((index, i) => {
    size[index] = tick.total_ns[i]!;
    self[index] = tick.self_ns[i]!;
  });
  const home = tick.places[0]!;
  // Ancestors of the loop are as wide as its tick: a box is inside all its ancestors.
  for (let above = tree.items[home]!.parent; above >= 0; above = tree.items[above]!.parent) size[above] = size[home]!;
  return layOut(tree, size, self);
}

function layOut(tree: Tree, size: Float64Array, self: Float64Array): Boxes {
  const start = new Float64Array(size.length);
  addSampled(tree, size, self);
  for (let index = 0; index < size.length; index += 1) {
    let position = start[index]!;
    for (const child of childrenOf(tree, index)) {
      start[child] = position;
      position += size[child]!;
    }
  }
  return { start, size, self };
}

/** Sampled calls are parts of self times; the self time of a call is its time in no further call. */
function addSampled(tree: Tree, size: Float64Array, self: Float64Array): void {
  let owner = 0;
  for (const { kind, index, part, parent } of tree.items) {
    if (kind === "section") {
      owner = index;
      continue;
    }
    const above = tree.items[parent]!;
    if (above.kind === "section") owner = parent;
    size[index] = part * self[owner]!;
    self[index] = kind === "self" ? 0 : size[index]!;
    if (above.kind === "sampled") self[parent] = Math.max(0, self[parent]! - size[index]!);
  }
}

export interface Span {
  start: number;
  size: number;
}

/** Calls `draw` with each box that is at least `minPx` wide where `span` is `widthPx` wide, parents first. */
export function eachBox(
  tree: Tree,
  boxes: Boxes,
  span: Span,
  widthPx: number,
  minPx: number,
  draw: (index: number, leftPx: number, boxPx: number) => void,
): void {
  const scale = widthPx / (span.size || 1);
  for (let index = 0; index < tree.items.length; ) {
    const leftPx = (boxes.start[index]! - span.start) * scale;
    const boxPx = boxes.size[index]! * scale;
    if (boxPx < minPx || leftPx > widthPx || leftPx + boxPx < 0) {
      index = tree.items[index]!.end; // all its descendants are inside it
      continue;
    }
    draw(index, leftPx, boxPx);
    index += 1;
  }
}

/** The node at a point of the picture; null if there is none. */
export function boxAt(tree: Tree, boxes: Boxes, span: Span, widthPx: number, leftPx: number, depth: number): number | null {
  const moment = span.start + (leftPx / widthPx) * span.size;
  let index = 0;
  if (moment < boxes.start[0]! || moment >= boxes.start[0]! + boxes.size[0]!) return null;
  while (tree.items[index]!.depth < depth) {
    const child = childrenOf(tree, index).find((child) => moment >= boxes.start[child]! && moment < boxes.start[child]! + boxes.size[child]!);
    if (child === undefined) return null;
    index = child;
  }
  return index;
}
