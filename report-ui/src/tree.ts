import type { Stats, TreeNode, View } from "./types";
import { visible } from "./visible";

/** A node and its place in the tree: numbered from the top down, so that all below it are `index + 1` to `end - 1`. */
export interface Place {
  node: TreeNode;
  /** Of a call under focus a short one. */
  name: string;
  whole: string;
  index: number;
  parent: number;
  depth: number;
  end: number;
  category: string | null;
  /** The place of the loop that it is in, of whose ticks it is a part; 0 of the run. */
  base: number;
}

export type Phase = "steady" | "warmup" | "all";

export interface Tree {
  places: Place[];
  at: Map<string, number>;
  deepest: number;
}

/** Numbers the tree's nodes. Not recursive: trees are as deep as the program recursed. */
export function treeOf(root: TreeNode, view: Pick<View, "categories" | "category_of"> & Partial<Pick<View, "short" | "loop_of">>): Tree {
  const places: Place[] = [];
  const waiting: { node: TreeNode; parent: number; depth: number }[] = [{ node: root, parent: -1, depth: 0 }];
  let deepest = 0;
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const index = places.length;
    const { node, parent, depth } = next;
    const category = view.categories[view.category_of[index] ?? -1] ?? null;
    const whole = visible(node.name) || '""';
    places.push({ node, name: visible(view.short?.[index] ?? "") || whole, whole, index, parent, depth, end: index + 1, category, base: view.loop_of?.[index] ?? 0 });
    deepest = Math.max(deepest, depth);
    for (let child = node.children.length - 1; child >= 0; child -= 1) {
      waiting.push({ node: node.children[child]!, parent: index, depth: depth + 1 });
    }
  }
  for (let index = places.length - 1; index > 0; index -= 1) {
    const above = places[places[index]!.parent]!;
    above.end = Math.max(above.end, places[index]!.end);
  }
  return { places, at: new Map(places.map((place) => [place.node.path, place.index])), deepest };
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

/** What of that is in none of the sections below, and not ticktree's own cost. */
export function ownOf(node: TreeNode, phase: Phase): number {
  if (phase === "all" || !node.warmup) return phase === "warmup" ? 0 : node.self_ns - node.recorder_ns;
  const calls = statsOf(node, phase)?.count ?? 0;
  const covered = node.children.reduce((sum, child) => {
    const onPath = child.total_ns > 0 ? (child.total_ns - child.concurrent_ns) / child.total_ns : 0;
    return sum + onPath * totalOf(child, phase);
  }, 0);
  return Math.max(0, Math.round(totalOf(node, phase) - covered - (node.count ? (node.recorder_ns * calls) / node.count : 0)));
}

/** Whether anything has a warm-up: otherwise there is nothing to switch between. */
export function hasPhases(tree: Tree): boolean {
  return tree.places.some((place) => place.node.warmup !== undefined);
}
