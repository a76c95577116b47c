import { childrenOf, lengthOf, lineage, ownOf, type Phase, statsOf, totalOf, type Tree } from "./tree";
import type { Stats, Unit, View } from "./types";
import { had, type Had, spreadOf, unitOf } from "./units";

export type Column =
  | ("name" | "share" | "total" | "mean" | "min" | "p50" | "p90" | "p99" | "max" | "calls")
  /** What a unit had, or the least, the middle and the most that any of them had. */
  | (`unit ${number}` | "least" | "middle" | "most");

/**
 * A line of the ledger: a section, the time of one that is in none below it, a call that samples saw in that, or what
 * ticktree itself cost.
 */
export interface Row {
  kind: "section" | "self" | "sampled" | "itself";
  key: string;
  /** The section's place, or the call's; of self time without samples the place of whose it is. */
  index: number;
  depth: number;
  totalNs: number;
  /** Part of the ticks of the loop that it is in, or of the run; null where that means nothing. */
  share: number | null;
  meanNs: number | null;
  calls: number | null;
  stats: Stats | null;
  /** What each of the units had that were asked for. */
  had: Had | null;
  opens: boolean;
  isOpen: boolean;
}

export interface Asked {
  open: ReadonlySet<number>;
  query: string;
  sort: Column;
  descending: boolean;
  phase: Phase;
  /** Those that have columns; null for the columns of all together. */
  units: readonly Unit[] | null;
}

type Facts = Pick<View, "outlived" | "itself" | "mean_ticks">;
type Looked = Asked & { of: ReadonlyMap<number, number> | null; ranks: ReadonlyMap<number, number> };

/** The lines to show, top to bottom. */
export function rowsOf(tree: Tree, facts: Facts, wishes: Asked): Row[] {
  // What each process had is known of the whole run only.
  const asked: Looked = {
    ...wishes,
    phase: wishes.units ? "all" : wishes.phase,
    of: wishes.units && unitOf(wishes.units),
    ranks: new Map(facts.mean_ticks.map((one, rank) => [one.places[0]!, rank])),
  };
  const wanted = asked.query ? matching(tree, asked.query) : null;
  const outlived = new Set(facts.outlived);
  const rows: Row[] = [];
  // A stack, as the tree may be deeper than functions may call each other; its top is the next line.
  const waiting: Row[] = below(tree, 0, asked, wanted, outlived);
  const root = tree.places[0]!.node;
  if (!root.self_ns) waiting.splice(0, waiting.length, ...waiting.filter((row) => row.kind !== "self"));
  waiting.reverse();
  if (facts.itself.total_ns && facts.itself.calls && !wanted && asked.phase === "all") waiting.unshift(itself(facts, root.total_ns));
  for (let row = waiting.pop(); row; row = waiting.pop()) {
    rows.push(row);
    if (row.isOpen) waiting.push(...below(tree, row.index, asked, wanted, outlived).reverse());
  }
  return rows;
}

/** Places whose path has the words in it, and those that lead to them. */
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
 * The places to open at first: the largest nodes', as long as all lines still fit on a screen or so. A recursion would
 * fill it with lines that say the same: its third level stays closed.
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

/** How many of its own name a place lies in, itself included. */
function levelOf(tree: Tree, index: number): number {
  return lineage(tree, index).filter((at) => tree.places[at]!.whole === tree.places[index]!.whole).length;
}

/** Those that must be open for a place to be seen. */
export function openTo(tree: Tree, open: ReadonlySet<number>, index: number): Set<number> {
  return new Set([...open, ...lineage(tree, index).slice(1, -1)]);
}

function below(
  tree: Tree,
  index: number,
  asked: Looked,
  wanted: Set<number> | null,
  outlived: ReadonlySet<number>,
): Row[] {
  const parent = tree.places[index]!.node;
  const there = childrenOf(tree, index).filter((child) => !wanted || wanted.has(child));
  const sections = there.filter((child) => tree.places[child]!.kind === "section");
  const rows = sections.map((child) => section(tree, child, parent.total_ns, asked, wanted, outlived.has(index)));
  const direction = asked.descending ? -1 : 1;
  // As nothing else is asked for, loops stand first and in their order everywhere: those that miss ticks before others.
  const isByOrder = !index && asked.sort === "total" && asked.descending;
  const rank = (row: Row) => (isByOrder ? (asked.ranks.get(row.index) ?? asked.ranks.size) : 0);
  rows.sort(
    (left, right) =>
      rank(left) - rank(right) || direction * compared(tree, left, right, asked.sort) || left.index - right.index,
  );
  const sampled = there.slice(sections.length).map((child) => inOwn(tree, child, asked, wanted));
  if (!sampled.length && parent.children.length && !wanted) rows.push(selfOf(tree, index, asked));
  return [...rows, ...sampled];
}

function section(
  tree: Tree,
  index: number,
  parentNs: number,
  asked: Looked,
  wanted: Set<number> | null,
  isOutlived: boolean,
): Row {
  const place = tree.places[index]!;
  const { node } = place;
  const stats = statsOf(node, asked.phase);
  // What went on after its parent's end is no part of the parent's time.
  const wentOn = (isOutlived && node.concurrent_ns !== 0) || (node.clock !== undefined && node.total_ns > parentNs);
  const totalNs = totalOf(node, asked.phase);
  const opens = place.end > index + 1;
  return {
    kind: "section",
    key: String(index),
    index,
    depth: place.depth - 1,
    totalNs,
    share: wentOn ? null : shareOf(tree, place.base, asked.phase, (phase) => totalOf(node, phase)),
    meanNs: stats?.count ? stats.mean_ns : null,
    calls: stats?.count ?? 0,
    stats: stats?.count ? stats : null,
    had: asked.of && had(node, false, asked.of, asked.units!.length),
    opens,
    isOpen: opens && (wanted ? holds(wanted, index, place.end) : asked.open.has(index)),
  };
}

/** Whether anything below a place is wanted; the set is by place, and those below one are next to it. */
function holds(wanted: Set<number>, index: number, end: number): boolean {
  for (let at = index + 1; at < end; at += 1) if (wanted.has(at)) return true;
  return false;
}

/** Of the loop's ticks of the phase; of what is in no loop, of the run, whatever phase is shown. */
function shareOf(tree: Tree, base: number, phase: Phase, ns: (phase: Phase) => number): number | null {
  const of = base ? phase : "all";
  const wholeNs = totalOf(tree.places[base]!.node, of);
  return wholeNs > 0 ? ns(of) / wholeNs : null;
}

function selfOf(tree: Tree, index: number, asked: Looked): Row {
  const { node, depth, base } = tree.places[index]!;
  const totalNs = ownOf(node, asked.phase);
  const calls = statsOf(node, asked.phase)?.count ?? 0;
  const isLoop = tree.places[index + 1]?.base === index; // it has sections: the next place is in it
  return {
    kind: "self",
    key: `own ${index}`,
    index,
    depth,
    totalNs,
    share: shareOf(tree, isLoop ? index : base, asked.phase, (phase) => ownOf(node, phase)),
    meanNs: calls ? Math.round(totalNs / calls) : null,
    calls: null,
    stats: null,
    had: asked.of && had(node, true, asked.of, asked.units!.length),
    opens: false,
    isOpen: false,
  };
}

/** Self time that was sampled, or a call in it: as large a part of it in each phase. */
function inOwn(tree: Tree, index: number, asked: Looked, wanted: Set<number> | null): Row {
  const { kind, node, part, depth, end, base } = tree.places[index]!;
  const isSelf = kind === "self";
  const totalNs = part * ownOf(node, asked.phase);
  const calls = statsOf(node, asked.phase)?.count ?? 0;
  const opens = end > index + 1;
  return {
    kind: isSelf ? "self" : "sampled",
    key: String(index),
    index,
    depth: depth - 1,
    totalNs,
    share: shareOf(tree, base, asked.phase, (phase) => part * ownOf(node, phase)),
    meanNs: calls ? Math.round(totalNs / calls) : null,
    calls: null,
    stats: null,
    had: isSelf ? asked.of && had(node, true, asked.of, asked.units!.length) : null,
    opens,
    isOpen: opens && (wanted ? holds(wanted, index, end) : asked.open.has(index)),
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
