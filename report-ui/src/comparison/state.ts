import { computed, signal } from "@preact/signals";
import { containsAll, partsOf, readablePath, unescaped, wordsOf } from "../path";
import { type Tree, treeOf } from "../tree";
import type { TreeNode } from "../types";
import type { ComparisonPayload, Entry } from "./types";

export type Which = "base" | "new";
export type Order = "tree" | "shift" | "time";

/** A line of the forest: an entry and its depth in the tree. */
export interface Line {
  entry: Entry;
  name: string;
  depth: number;
}

/** Everything that the page shows of a comparison, and its reader's choices. */
export class ComparisonState {
  readonly loops: Entry[];
  readonly nodes: Entry[];
  readonly byPath: Map<string, Entry>;
  readonly query = signal("");
  readonly all = signal(false);
  readonly order = signal<Order>("tree");
  readonly side = signal<Which>("new");
  readonly zoomed = signal(0);
  readonly selected = signal<number | null>(null);
  readonly opened = signal<string | null>(null);
  readonly tree = computed<Tree>(() => treeOf(treeFrom(this.nodes, this.side.value), { categories: [], category_of: [] }));
  readonly lines = computed<Line[]>(() =>
    linesOf(this.nodes, { query: this.query.value, all: this.all.value, order: this.order.value }),
  );

  constructor(readonly payload: ComparisonPayload) {
    const { entries } = payload.comparison;
    this.loops = entries.filter((entry) => entry.kind === "loop");
    this.nodes = entries.filter((entry) => entry.kind === "node");
    this.byPath = new Map(this.nodes.map((entry) => [entry.path, entry]));
    // Without any result, all entries are shown.
    this.all.value = !this.nodes.some(isTelling);
  }
}

export function isTelling(entry: Entry): boolean {
  return entry.verdict !== "no difference" && entry.verdict !== "inconclusive";
}

interface LineOptions {
  query: string;
  all: boolean;
  order: Order;
}

/** The lines to show: in tree order, entries with a result and their ancestors; else sorted by path. */
export function linesOf(nodes: readonly Entry[], { query, all, order }: LineOptions): Line[] {
  const words = wordsOf(query);
  const matching = nodes.filter((entry) => containsAll(readablePath(entry.path), words));
  if (order !== "tree" || words.length) {
    const lines = (all || words.length ? matching : matching.filter(isTelling)).map((entry) => ({
      entry,
      name: readablePath(entry.path),
      depth: 0,
    }));
    if (order === "tree") return lines;
    return lines.sort((left, right) => weight(right.entry, order) - weight(left.entry, order));
  }
  const paths = new Set<string>();
  for (const entry of nodes) {
    const parts = partsOf(entry.path);
    if (all || parts.length === 1 || isTelling(entry)) parts.forEach((_, i) => paths.add(parts.slice(0, i + 1).join("/")));
  }
  return nodes
    .filter((entry) => paths.has(entry.path))
    .map((entry) => {
      const parts = partsOf(entry.path);
      return { entry, name: readablePath(parts[parts.length - 1]!), depth: parts.length - 1 };
    });
}

function weight(entry: Entry, order: Order): number {
  if (order === "shift") return Math.abs(entry.shift_percent ?? Infinity);
  return Math.max(spentNs(entry, "base"), spentNs(entry, "new"));
}

function spentNs(entry: Entry, side: Which): number {
  return entry[side].count * (entry[side === "base" ? "base_mean_ns" : "new_mean_ns"] ?? 0);
}

/** The sections of one side as a tree whose boxes are as wide as the time in their steady calls. */
export function treeFrom(nodes: readonly Entry[], side: Which): TreeNode {
  const root = newNode("root", "", 0);
  const byPath = new Map<string, TreeNode>([["", root]]);
  for (const entry of nodes) {
    const parts = partsOf(entry.path);
    const parent = byPath.get(parts.slice(0, -1).join("/")) ?? root;
    const node = newNode(unescaped(parts[parts.length - 1]!), entry.path, spentNs(entry, side));
    // Its children are subtracted; never below 0, because some may be concurrent.
    parent.self_ns = Math.max(0, parent.self_ns - node.total_ns);
    parent.children.push(node);
    byPath.set(entry.path, node);
  }
  return root;
}

function newNode(name: string, path: string, totalNs: number): TreeNode {
  const none = { min_ns: null, max_ns: null, mean_ns: null, p50_ns: null, p90_ns: null, p99_ns: null };
  const times = { total_ns: totalNs, self_ns: totalNs, concurrent_ns: 0, recorder_ns: 0, sum_ns: totalNs };
  const kind = { wait: false, parallel: false, call_site: null };
  return { name, path, count: 0, histogram: [], children: [], ...none, ...times, ...kind };
}
