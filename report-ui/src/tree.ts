import type { Sampled, Stats, TreeNode, View } from "./types";
import { visible } from "./visible";

/**
 * A node and its position in the tree: numbered from the top down, so that its descendants are `index + 1` to `end - 1`.
 * Sampled self time, and the sampled calls in it, have the node whose self time it is.
 */
export interface TreeItem {
  kind: "section" | "self" | "sampled";
  node: TreeNode;
  /** Share of the node's self time. */
  part: number;
  /** Whether a section's self time was sampled. */
  isSampled: boolean;
  /** Facts about a sampled call. */
  text: string;
  /** The name; shortened for a call under focus. */
  name: string;
  fullName: string;
  index: number;
  parent: number;
  depth: number;
  end: number;
  category: string | null;
  /** The index of its loop; 0 for the run. */
  base: number;
}

export type Phase = "steady" | "warmup" | "all";

export interface Tree {
  items: TreeItem[];
  indexByPath: Map<string, number>;
  /** The index of each section, by its number in the file. */
  sections: number[];
  deepest: number;
}

type Facts = Pick<View, "categories" | "category_of"> & Partial<Pick<View, "short" | "loop_of" | "sampled">>;

/** Numbers the tree's nodes. Not recursive: trees are as deep as the program recursed. */
export function treeOf(root: TreeNode, view: Facts): Tree {
  const items: TreeItem[] = [];
  const sections: number[] = [];
  const sampled = new Map((view.sampled ?? []).map((entry) => [entry.place, entry]));
  type Waiting = { node: TreeNode; parent: number; depth: number; own?: Sampled };
  const stack: Waiting[] = [{ node: root, parent: -1, depth: 0 }];
  for (let entry = stack.pop(); entry; entry = stack.pop()) {
    const { node, parent, depth, own: sampledCalls } = entry;
    if (sampledCalls) {
      addSampled(items, sampledCalls, parent, depth);
      continue;
    }
    const index = items.length;
    const number = sections.push(index) - 1;
    const calls = sampled.get(number);
    const category = view.categories[view.category_of[number] ?? -1] ?? null;
    const fullName = visible(node.name) || '""';
    const name = visible(view.short?.[number] ?? "") || fullName;
    const base = sections[view.loop_of?.[number] ?? 0]!;
    items.push({ kind: "section", node, part: 1, isSampled: calls !== undefined, text: "", name, fullName, index, parent, depth, end: index + 1, category, base });
    // The last entry on the stack is the first in the tree: self time comes after the sections.
    if (calls) stack.push({ node, parent: index, depth: depth + 1, own: { ...calls, base: sections[calls.base]! } });
    for (let child = node.children.length - 1; child >= 0; child -= 1) {
      stack.push({ node: node.children[child]!, parent: index, depth: depth + 1 });
    }
  }
  let deepest = 0;
  for (let index = items.length - 1; index > 0; index -= 1) {
    const parent = items[items[index]!.parent]!;
    parent.end = Math.max(parent.end, items[index]!.end);
    deepest = Math.max(deepest, items[index]!.depth);
  }
  return { items, indexByPath: new Map(sections.map((index) => [items[index]!.node.path, index])), sections, deepest };
}

/** Puts sampled calls below a section's self time; if the section has nothing else, below the section. */
function addSampled(items: TreeItem[], sampled: Sampled, parent: number, depth: number): void {
  const { node, category } = items[parent]!;
  const add = (kind: TreeItem["kind"], name: string, part: number, text: string, parentIndex: number, level: number): number => {
    const index = items.length;
    items.push({ kind, node, part, isSampled: false, text, name, fullName: name, index, parent: parentIndex, depth: level, end: index + 1, category, base: sampled.base });
    return index;
  };
  const isApart = node.children.length > 0;
  const top = isApart ? add("self", "[self]", 1, `${sampled.samples} samples`, parent, depth) : parent;
  const from = depth + (isApart ? 1 : 0);
  const lineage = [top];
  sampled.depth.forEach((level, i) => {
    lineage.length = level + 1;
    lineage.push(add("sampled", sampled.name[i]!, sampled.share[i]!, sampled.text[i]!, lineage[level]!, from + level));
  });
}

/** The indices of an item's children, in the order of the file. */
export function childrenOf(tree: Tree, index: number): number[] {
  const children: number[] = [];
  const end = tree.items[index]!.end;
  for (let child = index + 1; child < end; child = tree.items[child]!.end) children.push(child);
  return children;
}

/** The indices of an item's ancestors, and its own last. */
export function lineage(tree: Tree, index: number): number[] {
  const path: number[] = [];
  for (let ancestor = index; ancestor >= 0; ancestor = tree.items[ancestor]!.parent) path.unshift(ancestor);
  return path;
}

/** A path for people, of short names if there are any; if `above` is given, from below it on. */
export function shownPath(tree: Tree, path: string, above: string | null = null): string {
  const from = above !== null && path.startsWith(`${above}/`) ? above : "";
  const names = lineage(tree, tree.indexByPath.get(path) ?? 0).slice(from ? tree.items[tree.indexByPath.get(from)!]!.depth + 1 : 1);
  return names.length ? names.map((i) => tree.items[i]!.name).join("/") : visible(path);
}

/** The calls of a phase; a node without phases has all its calls in its steady phase. */
export function statsOf(node: TreeNode, phase: Phase): Stats | null {
  if (phase === "all") return node;
  return phase === "steady" ? (node.steady ?? node) : (node.warmup ?? null);
}

/** The time of all calls of a phase; open calls, and nodes without phases, count as steady. */
export function totalOf(node: TreeNode, phase: Phase): number {
  if (phase === "all" || !node.warmup) return phase === "warmup" ? 0 : node.total_ns;
  return statsOf(node, phase)?.sum_ns ?? 0;
}

/** The self time of a node in a phase, without ticktree's cost. */
export function ownOf(node: TreeNode, phase: Phase): number {
  if (phase === "all" || !node.warmup) return phase === "warmup" ? 0 : node.self_ns - node.recorder_ns;
  const calls = statsOf(node, phase)?.count ?? 0;
  const covered = node.children.reduce((sum, child) => {
    const onPath = child.total_ns > 0 ? (child.total_ns - child.concurrent_ns) / child.total_ns : 0;
    return sum + onPath * totalOf(child, phase);
  }, 0);
  return Math.max(0, Math.round(totalOf(node, phase) - covered - (node.count ? (node.recorder_ns * calls) / node.count : 0)));
}

/** The total time of an item, over all phases. */
export function lengthOf({ kind, node, part }: TreeItem): number {
  return kind === "section" ? node.total_ns : part * node.self_ns;
}

/** Whether anything has a warm-up: otherwise there is nothing to switch between. */
export function hasPhases(tree: Tree): boolean {
  return tree.items.some((item) => item.node.warmup !== undefined);
}
