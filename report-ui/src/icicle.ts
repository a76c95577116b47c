import { childrenOf, type Tree } from "./tree";
import type { MeanTick } from "./types";

/**
 * The box of each node, by place: it begins at `start` and is `size` wide, in nanoseconds of all threads together.
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
  const count = tree.places.length;
  const size = new Float64Array(count);
  const self = new Float64Array(count);
  for (let index = count - 1; index >= 0; index -= 1) {
    const place = tree.places[index]!;
    if (place.kind !== "section") continue;
    self[index] = Math.max(0, place.node.self_ns);
    size[index]! += self[index]!;
    if (place.parent >= 0) size[place.parent]! += size[index]!;
  }
  return placed(tree, size, self);
}

/** A mean tick: what is not on the loop's path has no width. */
export function boxesOfTick(tree: Tree, tick: MeanTick): Boxes {
  const size = new Float64Array(tree.places.length);
  const self = new Float64Array(tree.places.length);
  tick.places.forEach((place, at) => {
    size[place] = tick.total_ns[at]!;
    self[place] = tick.self_ns[at]!;
  });
  const home = tick.places[0]!;
  // What leads to the loop is as wide as its tick: a box is in all those above it.
  for (let at = tree.places[home]!.parent; at >= 0; at = tree.places[at]!.parent) size[at] = size[home]!;
  return placed(tree, size, self);
}

function placed(tree: Tree, size: Float64Array, self: Float64Array): Boxes {
  const start = new Float64Array(size.length);
  addSampled(tree, size, self);
  for (let index = 0; index < size.length; index += 1) {
    let at = start[index]!;
    for (const child of childrenOf(tree, index)) {
      start[child] = at;
      at += size[child]!;
    }
  }
  return { start, size, self };
}

/** Sampled calls are parts of self times; a call's time in no further call is its own. */
function addSampled(tree: Tree, size: Float64Array, self: Float64Array): void {
  let owner = 0;
  for (const { kind, index, part, parent } of tree.places) {
    if (kind === "section") {
      owner = index;
      continue;
    }
    const above = tree.places[parent]!;
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

/** Calls `draw` with each box that is at least `leastPx` wide where `span` is `widthPx` wide, parents first. */
export function eachBox(
  tree: Tree,
  boxes: Boxes,
  span: Span,
  widthPx: number,
  leastPx: number,
  draw: (index: number, leftPx: number, boxPx: number) => void,
): void {
  const scale = widthPx / (span.size || 1);
  for (let index = 0; index < tree.places.length; ) {
    const leftPx = (boxes.start[index]! - span.start) * scale;
    const boxPx = boxes.size[index]! * scale;
    if (boxPx < leastPx || leftPx > widthPx || leftPx + boxPx < 0) {
      index = tree.places[index]!.end; // all below it are within it
      continue;
    }
    draw(index, leftPx, boxPx);
    index += 1;
  }
}

/** The node at a point of the picture; null if there is none. */
export function boxAt(tree: Tree, boxes: Boxes, span: Span, widthPx: number, leftPx: number, depth: number): number | null {
  const at = span.start + (leftPx / widthPx) * span.size;
  let index = 0;
  if (at < boxes.start[0]! || at >= boxes.start[0]! + boxes.size[0]!) return null;
  while (tree.places[index]!.depth < depth) {
    const child = childrenOf(tree, index).find((one) => at >= boxes.start[one]! && at < boxes.start[one]! + boxes.size[one]!);
    if (child === undefined) return null;
    index = child;
  }
  return index;
}
