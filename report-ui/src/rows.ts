import { childrenOf, lengthOf, lineage, ownOf, type Phase, statsOf, totalOf, type Tree } from "./tree";
import type { Stats, Unit, View } from "./types";
import { had, type Had, spreadOf, unitOf } from "./units";

export type Column =
  | ("name" | "share" | "total" | "mean" | "min" | "p50" | "p90" | "p99" | "max" | "calls")
  /** The time of a unit, or minimum, median and maximum over the units. */
  | (`unit ${number}` | "least" | "middle" | "most");

/**
 * A line of the ledger: a section, its self time, a sampled call in that, or the cost of ticktree itself.
 */
export interface Row {
  kind: "section" | "self" | "sampled" | "itself";
  key: string;
  /** The index of the section or the call; for self time without samples, that of its section. */
  index: number;
  depth: number;
  totalNs: number;
  /** Share of its loop's ticks, or of the run; null if that has no meaning. */
  share: number | null;
  meanNs: number | null;
  calls: number | null;
  stats: Stats | null;
  /** The time of each unit that has a column. */
  had: Had | null;
  opens: boolean;
  isOpen: boolean;
}

export interface RowOptions {
  open: ReadonlySet<number>;
  query: string;
  sort: Column;
  descending: boolean;
  phase: Phase;
  /** Those that have columns; null for the columns of all together. */
  units: readonly Unit[] | null;
}

type Facts = Pick<View, "outlived" | "itself" | "mean_ticks">;
type ResolvedOptions = RowOptions & { of: ReadonlyMap<number, number> | null; ranks: ReadonlyMap<number, number> };

/** The lines to show, top to bottom. */
export function rowsOf(tree: Tree, facts: Facts, wishes: RowOptions): Row[] {
  // What each process had is known of the whole run only.
  const options: ResolvedOptions = {
    ...wishes,
    phase: wishes.units ? "all" : wishes.phase,
    of: wishes.units && unitOf(wishes.units),
    ranks: new Map(facts.mean_ticks.map((one, rank) => [one.places[0]!, rank])),
  };
  const wanted = options.query ? matching(tree, options.query) : null;
  const outlived = new Set(facts.outlived);
  const rows: Row[] = [];
  // A stack, as the tree may be deeper than functions may call each other; its top is the next line.
  const waiting: Row[] = below(tree, 0, options, wanted, outlived);
  const root = tree.places[0]!.node;
  if (!root.self_ns) waiting.splice(0, waiting.length, ...waiting.filter((row) => row.kind !== "self"));
  waiting.reverse();
  if (facts.itself.total_ns && facts.itself.calls && !wanted && options.phase === "all") waiting.unshift(itself(facts, root.total_ns));
  for (let row = waiting.pop(); row; row = waiting.pop()) {
    rows.push(row);
    if (row.isOpen) waiting.push(...below(tree, row.index, options, wanted, outlived).reverse());
  }
  return rows;
}

/** Places whose path contains the words, and their ancestors. */
export function matching(tree: Tree, query: string): Set<number> {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = new Set<number>();
  for (const place of tree.places) {
    const path = `${place.kind === "section" ? place.node.path : ""}/${place.whole}/${place.name}`.toLowerCase();
    if (place.index && words.every((word) => path.includes(word))) {
      for (let at = place.index; at >= 0 && !found.has(at); at = tree.places[at]!.parent) found.add(at);
    }
  }
  return found;
}

/**
 * The places to open at first: the largest nodes, as long as all lines fit on about a screen. A recursion would fill it
 * with similar lines, so its third level stays closed.
 */
export function openAtFirst(tree: Tree, lines: number): Set<number> {
  const open = new Set<number>();
  // What is in self time is opened at first where there is nothing else.
  const isShown = (at: number) => tree.places[at]!.kind === "section" || !tree.places[0]!.node.children.length;
  const candidates = childrenOf(tree, 0).filter(isShown);
  let used = candidates.length;
  while (candidates.length) {
    let best = 0;
    for (let at = 1; at < candidates.length; at += 1) {
      if (lengthOf(tree.places[candidates[at]!]!) > lengthOf(tree.places[candidates[best]!]!)) best = at;
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

/** The number of nested places of the same name, the place itself included. */
function levelOf(tree: Tree, index: number): number {
  return lineage(tree, index).filter((at) => tree.places[at]!.whole === tree.places[index]!.whole).length;
}

/** The places that must be open for a place to be visible. */
export function openTo(tree: Tree, open: ReadonlySet<number>, index: number): Set<number> {
  return new Set([...open, ...lineage(tree, index).slice(1, -1)]);
}

function below(
  tree: Tree,
  index: number,
  options: ResolvedOptions,
  wanted: Set<number> | null,
  outlived: ReadonlySet<number>,
): Row[] {
  const parent = tree.places[index]!.node;
  const there = childrenOf(tree, index).filter((child) => !wanted || wanted.has(child));
  const sections = there.filter((child) => tree.places[child]!.kind === "section");
  const rows = sections.map((child) => section(tree, child, parent.total_ns, options, wanted, outlived.has(index)));
  const direction = options.descending ? -1 : 1;
  // In the default order, loops come first, in the order of all outputs: those that miss ticks before others.
  const isByOrder = !index && options.sort === "total" && options.descending;
  const rank = (row: Row) => (isByOrder ? (options.ranks.get(row.index) ?? options.ranks.size) : 0);
  rows.sort(
    (left, right) =>
      rank(left) - rank(right) || direction * compared(tree, left, right, options.sort) || left.index - right.index,
  );
  const sampled = there.slice(sections.length).map((child) => inOwn(tree, child, options, wanted));
  if (!sampled.length && parent.children.length && !wanted) rows.push(selfOf(tree, index, options));
  return [...rows, ...sampled];
}

function section(
  tree: Tree,
  index: number,
  parentNs: number,
  options: ResolvedOptions,
  wanted: Set<number> | null,
  isOutlived: boolean,
): Row {
  const place = tree.places[index]!;
  const { node } = place;
  const stats = statsOf(node, options.phase);
  // What continued after its parent's end is no part of the parent's time.
  const continued = (isOutlived && node.concurrent_ns !== 0) || (node.clock !== undefined && node.total_ns > parentNs);
  const totalNs = totalOf(node, options.phase);
  const opens = place.end > index + 1;
  return {
    kind: "section",
    key: String(index),
    index,
    depth: place.depth - 1,
    totalNs,
    share: continued ? null : shareOf(tree, place.base, options.phase, (phase) => totalOf(node, phase)),
    meanNs: stats?.count ? stats.mean_ns : null,
    calls: stats?.count ?? 0,
    stats: stats?.count ? stats : null,
    had: options.of && had(node, false, options.of, options.units!.length),
    opens,
    isOpen: opens && (wanted ? holds(wanted, index, place.end) : options.open.has(index)),
  };
}

/** Whether anything below a place is wanted; the set is by place, and those below one are next to it. */
function holds(wanted: Set<number>, index: number, end: number): boolean {
  for (let at = index + 1; at < end; at += 1) if (wanted.has(at)) return true;
  return false;
}

/** Share of the loop's ticks in the phase; outside loops, share of the run in every phase. */
function shareOf(tree: Tree, base: number, phase: Phase, ns: (phase: Phase) => number): number | null {
  const of = base ? phase : "all";
  const wholeNs = totalOf(tree.places[base]!.node, of);
  return wholeNs > 0 ? ns(of) / wholeNs : null;
}

function selfOf(tree: Tree, index: number, options: ResolvedOptions): Row {
  const { node, depth, base } = tree.places[index]!;
  const totalNs = ownOf(node, options.phase);
  const calls = statsOf(node, options.phase)?.count ?? 0;
  const isLoop = tree.places[index + 1]?.base === index; // it has sections: the next place is in it
  return {
    kind: "self",
    key: `own ${index}`,
    index,
    depth,
    totalNs,
    share: shareOf(tree, isLoop ? index : base, options.phase, (phase) => ownOf(node, phase)),
    meanNs: calls ? Math.round(totalNs / calls) : null,
    calls: null,
    stats: null,
    had: options.of && had(node, true, options.of, options.units!.length),
    opens: false,
    isOpen: false,
  };
}

/** Self time that was sampled, or a call in it: as large a part of it in each phase. */
function inOwn(tree: Tree, index: number, options: ResolvedOptions, wanted: Set<number> | null): Row {
  const { kind, node, part, depth, end, base } = tree.places[index]!;
  const isSelf = kind === "self";
  const totalNs = part * ownOf(node, options.phase);
  const calls = statsOf(node, options.phase)?.count ?? 0;
  const opens = end > index + 1;
  return {
    kind: isSelf ? "self" : "sampled",
    key: String(index),
    index,
    depth: depth - 1,
    totalNs,
    share: shareOf(tree, base, options.phase, (phase) => part * ownOf(node, phase)),
    meanNs: calls ? Math.round(totalNs / calls) : null,
    calls: null,
    stats: null,
    had: isSelf ? options.of && had(node, true, options.of, options.units!.length) : null,
    opens,
    isOpen: opens && (wanted ? holds(wanted, index, end) : options.open.has(index)),
  };
}

function itself(facts: Facts, rootNs: number): Row {
  const { total_ns: totalNs, calls } = facts.itself;
  return {
    kind: "itself",
    key: "itself",
    index: 0,
    depth: 0,
    totalNs,
    share: rootNs > 0 ? totalNs / rootNs : null,
    meanNs: Math.round(totalNs / calls),
    calls,
    stats: null,
    had: null,
    opens: false,
    isOpen: false,
  };
}

const AMOUNT: Record<Exclude<Column, "name" | `unit ${number}`>, (row: Row) => number> = {
  share: (row) => row.share ?? -1,
  total: (row) => row.totalNs,
  mean: (row) => row.meanNs ?? -1,
  min: (row) => row.stats?.min_ns ?? -1,
  p50: (row) => row.stats?.p50_ns ?? -1,
  p90: (row) => row.stats?.p90_ns ?? -1,
  p99: (row) => row.stats?.p99_ns ?? -1,
  max: (row) => row.stats?.max_ns ?? -1,
  calls: (row) => row.calls ?? -1,
  least: (row) => spreadOf(row.had ?? [])?.minNs ?? -1,
  middle: (row) => spreadOf(row.had ?? [])?.medianNs ?? -1,
  most: (row) => spreadOf(row.had ?? [])?.maxNs ?? -1,
};

function compared(tree: Tree, left: Row, right: Row, by: Column): number {
  if (by === "name") return tree.places[left.index]!.name.localeCompare(tree.places[right.index]!.name);
  const unit = /^unit (\d+)$/.exec(by);
  const amount = unit ? (row: Row) => row.had?.[Number(unit[1])] ?? -1 : AMOUNT[by as keyof typeof AMOUNT];
  return amount(left) - amount(right);
}
