import type { Sampled, Stats, TreeNode, View } from "./types";
import { visible } from "./visible";

/**
 * A node and its place in the tree: numbered from the top down, so that its descendants are `index + 1` to `end - 1`.
 * Sampled self time, and the sampled calls in it, have the node whose self time it is.
 */
export interface Place {
  kind: "section" | "self" | "sampled";
  node: TreeNode;
  /** Share of the node's self time. */
  part: number;
  /** Whether a section's self time was sampled. */
  isSampled: boolean;
  /** What is known of a call that was sampled. */
  text: string;
  /** Of a call under focus a short one. */
  name: string;
  whole: string;
  index: number;
  parent: number;
  depth: number;
  end: number;
  category: string | null;
  /** The index of its loop, whose ticks it is a part of; 0 for the run. */
  base: number;
}

export type Phase = "steady" | "warmup" | "all";

export interface Tree {
  places: Place[];
  at: Map<string, number>;
  /** The place of each section, by its number in the file. */
  sections: number[];
  deepest: number;
}

type Facts = Pick<View, "categories" | "category_of"> & Partial<Pick<View, "short" | "loop_of" | "sampled">>;

/** Numbers the tree's nodes. Not recursive: trees are as deep as the program recursed. */
export function treeOf(root: TreeNode, view: Facts): Tree {
  const places: Place[] = [];
  const sections: number[] = [];
  const sampled = new Map((view.sampled ?? []).map((one) => [one.place, one]));
  type Waiting = { node: TreeNode; parent: number; depth: number; own?: Sampled };
  const waiting: Waiting[] = [{ node: root, parent: -1, depth: 0 }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { node, parent, depth, own } = next;
    if (own) {
      addSampled(places, own, parent, depth);
      continue;
    }
    const index = places.length;
    const number = sections.push(index) - 1;
    const below = sampled.get(number);
    const category = view.categories[view.category_of[number] ?? -1] ?? null;
    const whole = visible(node.name) || '""';
    const name = visible(view.short?.[number] ?? "") || whole;
    const base = sections[view.loop_of?.[number] ?? 0]!;
    places.push({ kind: "section", node, part: 1, isSampled: below !== undefined, text: "", name, whole, index, parent, depth, end: index + 1, category, base });
    // Last on the stack is first in the tree: self time comes behind the sections.
    if (below) waiting.push({ node, parent: index, depth: depth + 1, own: { ...below, base: sections[below.base]! } });
    for (let child = node.children.length - 1; child >= 0; child -= 1) {
      waiting.push({ node: node.children[child]!, parent: index, depth: depth + 1 });
    }
  }
  let deepest = 0;
  for (let index = places.length - 1; index > 0; index -= 1) {
    const above = places[places[index]!.parent]!;
    above.end = Math.max(above.end, places[index]!.end);
    deepest = Math.max(deepest, places[index]!.depth);
  }
  return { places, at: new Map(sections.map((index) => [places[index]!.node.path, index])), sections, deepest };
}

/** Puts sampled calls below a section's self time; if the section has nothing else, below the section. */
function addSampled(places: Place[], own: Sampled, parent: number, depth: number): void {
  const { node, category } = places[parent]!;
  const add = (kind: Place["kind"], name: string, part: number, text: string, above: number, at: number): number => {
    const index = places.length;
    places.push({ kind, node, part, isSampled: false, text, name, whole: name, index, parent: above, depth: at, end: index + 1, category, base: own.base });
    return index;
  };
  const isApart = node.children.length > 0;
  const top = isApart ? add("self", "[self]", 1, `${own.samples} samples`, parent, depth) : parent;
  const from = depth + (isApart ? 1 : 0);
  const lineage = [top];
  own.depth.forEach((level, at) => {
    lineage.length = level + 1;
    lineage.push(add("sampled", own.name[at]!, own.share[at]!, own.text[at]!, lineage[level]!, from + level));
  });
}

/** The places directly below one, in the order of the file. */
export function childrenOf(tree: Tree, index: number): number[] {
  const found: number[] = [];
  const end = tree.places[index]!.end;
  for (let child = index + 1; child < end; child = tree.places[child]!.end) found.push(child);
  return found;
}

/** The places that lead to one, itself last. */
export function lineage(tree: Tree, index: number): number[] {
  const found: number[] = [];
  for (let at = index; at >= 0; at = tree.places[at]!.parent) found.unshift(at);
  return found;
}

/** A path as people read it, perhaps from below `above` on: of short names, where there are any. */
export function shownPath(tree: Tree, path: string, above: string | null = null): string {
  const from = above !== null && path.startsWith(`${above}/`) ? above : "";
  const way = lineage(tree, tree.at.get(path) ?? 0).slice(from ? tree.places[tree.at.get(from)!]!.depth + 1 : 1);
  return way.length ? way.map((at) => tree.places[at]!.name).join("/") : visible(path);
}

/** The calls of a phase; a node without phases has all its calls in its steady one. */
export function statsOf(node: TreeNode, phase: Phase): Stats | null {
  if (phase === "all") return node;
  return phase === "steady" ? (node.steady ?? node) : (node.warmup ?? null);
}

/** How long all calls of a phase took; what is still open, and what has no phases, is in the steady one. */
export function totalOf(node: TreeNode, phase: Phase): number {
  if (phase === "all" || !node.warmup) return phase === "warmup" ? 0 : node.total_ns;
  return statsOf(node, phase)?.sum_ns ?? 0;
}

/** The part of it that is in no child, without ticktree's cost. */
export function ownOf(node: TreeNode, phase: Phase): number {
  if (phase === "all" || !node.warmup) return phase === "warmup" ? 0 : node.self_ns - node.recorder_ns;
  const calls = statsOf(node, phase)?.count ?? 0;
  const covered = node.children.reduce((sum, child) => {
    const onPath = child.total_ns > 0 ? (child.total_ns - child.concurrent_ns) / child.total_ns : 0;
    return sum + onPath * totalOf(child, phase);
  }, 0);
  return Math.max(0, Math.round(totalOf(node, phase) - covered - (node.count ? (node.recorder_ns * calls) / node.count : 0)));
}

/** The total time of a place, over all phases. */
export function lengthOf({ kind, node, part }: Place): number {
  return kind === "section" ? node.total_ns : part * node.self_ns;
}

/** Whether anything has a warm-up: otherwise there is nothing to switch between. */
export function hasPhases(tree: Tree): boolean {
  return tree.places.some((place) => place.node.warmup !== undefined);
}
