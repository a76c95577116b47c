import { containsAll, wordsOf } from "./path";
import { childrenOf, lengthOf, lineage, ownOf, type Phase, statsOf, totalOf, type Tree, type TreeItem } from "./tree";
import type { Stats, TreeNode, WorkerColumn, View } from "./types";
import { timesByWorker, type Had, spreadOf, workerOf } from "./workers";

export type Column =
  | ("name" | "share" | "total" | "mean" | "min" | "p50" | "p90" | "p99" | "max" | "calls")
  /** The time of a worker, or minimum, median and maximum over the workers. */
  | (`worker ${number}` | "least" | "middle" | "most");

/**
 * A line of the ledger: a section, its self time, a sampled call in that, or the cost of ticktree itself.
 */
export interface Row {
  kind: "section" | "self" | "sampled" | "itself";
  key: string;
  /** The index of the section or call; for self time without samples, the index of its section. */
  index: number;
  depth: number;
  totalNs: number;
  /** Share of its loop's ticks, or of the run; null if that has no meaning. */
  share: number | null;
  meanNs: number | null;
  calls: number | null;
  stats: Stats | null;
  /** The time of each worker that has a column. */
  workerTimes: Had | null;
  opens: boolean;
  isOpen: boolean;
}

export interface RowOptions {
  open: ReadonlySet<number>;
  query: string;
  sort: Column;
  descending: boolean;
  phase: Phase;
  /** The workers that have columns; null for the columns of all together. */
  workers: readonly WorkerColumn[] | null;
}

type Facts = Pick<View, "outlived" | "itself" | "mean_ticks">;
type ResolvedOptions = RowOptions & { workerByThread: ReadonlyMap<number, number> | null; ranks: ReadonlyMap<number, number> };

/** The lines to show, top to bottom. */
export function rowsOf(tree: Tree, facts: Facts, wishes: RowOptions): Row[] {
  // The times of processes are known only for the whole run.
  const options: ResolvedOptions = {
    ...wishes,
    phase: wishes.workers ? "all" : wishes.phase,
    workerByThread: wishes.workers && workerOf(wishes.workers),
    ranks: new Map(facts.mean_ticks.map((tick, rank) => [tick.places[0]!, rank])),
  };
  const matches = options.query ? matching(tree, options.query) : null;
  const outlived = new Set(facts.outlived);
  const rows: Row[] = [];
  // A stack, because the tree may be deeper than recursion allows; its top is the next line.
  const stack: Row[] = rowsBelow(tree, 0, options, matches, outlived);
  const root = tree.items[0]!.node;
  if (!root.self_ns) stack.splice(0, stack.length, ...stack.filter((row) => row.kind !== "self"));
  stack.reverse();
  if (facts.itself.total_ns && facts.itself.calls && !matches && options.phase === "all") stack.unshift(itself(facts, root.total_ns));
  for (let row = stack.pop(); row; row = stack.pop()) {
    rows.push(row);
    if (row.isOpen) stack.push(...rowsBelow(tree, row.index, options, matches, outlived).reverse());
  }
  return rows;
}

/** The indices of items whose path contains the words, and of their ancestors. */
export function matching(tree: Tree, query: string): Set<number> {
  const words = wordsOf(query);
  const matches = new Set<number>();
  for (const item of tree.items) {
    const path = `${item.kind === "section" ? item.node.path : ""}/${item.fullName}/${item.name}`;
    if (item.index && containsAll(path, words)) {
      for (let index = item.index; index >= 0 && !matches.has(index); index = tree.items[index]!.parent) matches.add(index);
    }
  }
  return matches;
}

/**
 * The items to open at first: the largest nodes, as long as all lines fit on about a screen. A recursion would fill it
 * with similar lines, so its third level stays closed.
 */
export function openAtFirst(tree: Tree, lines: number): Set<number> {
  const open = new Set<number>();
  // Self time is opened at first only if there is nothing else.
  const isShown = (index: number) => tree.items[index]!.kind === "section" || !tree.items[0]!.node.children.length;
  const candidates = childrenOf(tree, 0).filter(isShown);
  let used = candidates.length;
  while (candidates.length) {
    let best = 0;
    for (let i = 1; i < candidates.length; i += 1) {
      if (lengthOf(tree.items[candidates[i]!]!) > lengthOf(tree.items[candidates[best]!]!)) best = i;
    }
    const [index] = candidates.splice(best, 1) as [number];
    const children = childrenOf(tree, index).filter(isShown);
    if (!children.length || used + children.length + 1 > lines || levelOf(tree, index) > 2) continue;
    used += children.length + 1;
    open.add(index);
    candidates.push(...children);
  }
  return open;
}

/** The number of nested items of the same name, including the item itself. */
function levelOf(tree: Tree, index: number): number {
  return lineage(tree, index).filter((ancestor) => tree.items[ancestor]!.fullName === tree.items[index]!.fullName).length;
}

/** The items that must be open for an item to be visible. */
export function openTo(tree: Tree, open: ReadonlySet<number>, index: number): Set<number> {
  return new Set([...open, ...lineage(tree, index).slice(1, -1)]);
}

function rowsBelow(
  tree: Tree,
  index: number,
  options: ResolvedOptions,
  matches: Set<number> | null,
  outlived: ReadonlySet<number>,
): Row[] {
  const parent = tree.items[index]!.node;
  const children = childrenOf(tree, index).filter((child) => !matches || matches.has(child));
  const sections = children.filter((child) => tree.items[child]!.kind === "section");
  const rows = sections.map((child) => section(tree, child, parent.total_ns, options, matches, outlived.has(index)));
  const direction = options.descending ? -1 : 1;
  // In the default order, loops come first, in the order of all outputs: those that miss ticks before others.
  const isByOrder = !index && options.sort === "total" && options.descending;
  const rank = (row: Row) => (isByOrder ? (options.ranks.get(row.index) ?? options.ranks.size) : 0);
  rows.sort(
    (left, right) =>
      rank(left) - rank(right) || direction * compare(tree, left, right, options.sort) || left.index - right.index,
  );
  const sampled = children.slice(sections.length).map((child) => sampledRow(tree, child, options, matches));
  if (!sampled.length && parent.children.length && !matches) rows.push(selfOf(tree, index, options));
  return [...rows, ...sampled];
}

function section(
  tree: Tree,
  index: number,
  parentNs: number,
  options: ResolvedOptions,
  matches: Set<number> | null,
  isOutlived: boolean,
): Row {
  const item = tree.items[index]!;
  const { node } = item;
  const stats = statsOf(node, options.phase);
  // Time after the end of the parent is no part of the parent's time.
  const continued = (isOutlived && node.concurrent_ns !== 0) || (node.clock !== undefined && node.total_ns > parentNs);
  const totalNs = totalOf(node, options.phase);
  return {
    kind: "section",
    key: String(index),
    index,
    depth: item.depth - 1,
    totalNs,
    share: continued ? null : shareOf(tree, item.base, options.phase, (phase) => totalOf(node, phase)),
    meanNs: stats?.count ? stats.mean_ns : null,
    calls: stats?.count ?? 0,
    stats: stats?.count ? stats : null,
    workerTimes: workerTimesOf(node, false, options),
    ...openness(item, options, matches),
  };
}

/** Whether an item has descendants, and whether it shows them: during a search, if one of them matches. */
function openness({ index, end }: TreeItem, options: ResolvedOptions, matches: Set<number> | null): Pick<Row, "opens" | "isOpen"> {
  const opens = end > index + 1;
  if (!opens || !matches) return { opens, isOpen: opens && options.open.has(index) };
  // Descendants follow their ancestor in the tree.
  for (let i = index + 1; i < end; i += 1) if (matches.has(i)) return { opens, isOpen: true };
  return { opens, isOpen: false };
}

function workerTimesOf(node: TreeNode, isSelf: boolean, { workerByThread, workers }: ResolvedOptions): Had | null {
  return workerByThread && timesByWorker(node, isSelf, workerByThread, workers!.length);
}

// A row without calls, times per worker and children.
const LEAF = { calls: null, stats: null, workerTimes: null, opens: false, isOpen: false };

/** Share of the loop's ticks in the phase; outside loops, share of the run in every phase. */
function shareOf(tree: Tree, base: number, phase: Phase, ns: (phase: Phase) => number): number | null {
  const basePhase = base ? phase : "all";
  const wholeNs = totalOf(tree.items[base]!.node, basePhase);
  return wholeNs > 0 ? ns(basePhase) / wholeNs : null;
}

function selfOf(tree: Tree, index: number, options: ResolvedOptions): Row {
  const { node, depth, base } = tree.items[index]!;
  const totalNs = ownOf(node, options.phase);
  const calls = statsOf(node, options.phase)?.count ?? 0;
  const isLoop = tree.items[index + 1]?.base === index; // it has sections: the next item is in it
  return {
    ...LEAF,
    kind: "self",
    key: `own ${index}`,
    index,
    depth,
    totalNs,
    share: shareOf(tree, isLoop ? index : base, options.phase, (phase) => ownOf(node, phase)),
    meanNs: calls ? Math.round(totalNs / calls) : null,
    workerTimes: workerTimesOf(node, true, options),
  };
}

/** Sampled self time, or a sampled call in it: the same share of the self time in each phase. */
function sampledRow(tree: Tree, index: number, options: ResolvedOptions, matches: Set<number> | null): Row {
  const item = tree.items[index]!;
  const { node, part, depth, base } = item;
  const isSelf = item.kind === "self";
  const totalNs = part * ownOf(node, options.phase);
  const calls = statsOf(node, options.phase)?.count ?? 0;
  return {
    ...LEAF,
    kind: isSelf ? "self" : "sampled",
    key: String(index),
    index,
    depth: depth - 1,
    totalNs,
    share: shareOf(tree, base, options.phase, (phase) => part * ownOf(node, phase)),
    meanNs: calls ? Math.round(totalNs / calls) : null,
    workerTimes: isSelf ? workerTimesOf(node, true, options) : null,
    ...openness(item, options, matches),
  };
}

function itself(facts: Facts, rootNs: number): Row {
  const { total_ns: totalNs, calls } = facts.itself;
  const share = rootNs > 0 ? totalNs / rootNs : null;
  return { ...LEAF, kind: "itself", key: "itself", index: 0, depth: 0, totalNs, share, meanNs: Math.round(totalNs / calls), calls };
}

const AMOUNT: Record<Exclude<Column, "name" | `worker ${number}`>, (row: Row) => number> = {
  share: (row) => row.share ?? -1,
  total: (row) => row.totalNs,
  mean: (row) => row.meanNs ?? -1,
  min: (row) => row.stats?.min_ns ?? -1,
  p50: (row) => row.stats?.p50_ns ?? -1,
  p90: (row) => row.stats?.p90_ns ?? -1,
  p99: (row) => row.stats?.p99_ns ?? -1,
  max: (row) => row.stats?.max_ns ?? -1,
  calls: (row) => row.calls ?? -1,
  least: (row) => spreadOf(row.workerTimes ?? [])?.minNs ?? -1,
  middle: (row) => spreadOf(row.workerTimes ?? [])?.medianNs ?? -1,
  most: (row) => spreadOf(row.workerTimes ?? [])?.maxNs ?? -1,
};

function compare(tree: Tree, left: Row, right: Row, by: Column): number {
  if (by === "name") return tree.items[left.index]!.name.localeCompare(tree.items[right.index]!.name);
  const worker = /^worker (\d+)$/.exec(by);
  const amount = worker ? (row: Row) => row.workerTimes?.[Number(worker[1])] ?? -1 : AMOUNT[by as keyof typeof AMOUNT];
  return amount(left) - amount(right);
}
