import type { TimelineFacts } from "../types";
import type { Columns } from "./columns";
import { type LoopTicks, ticksOf } from "./ticks";

/** A line of the picture: calls of one track at the same depth, one after the other. */
export interface Row {
  track: number;
  depth: number;
  from: number;
  to: number;
}

/** The calls row by row, as the picture reads them. */
export interface Model extends Omit<Columns, "lateNs"> {
  rows: Row[];
  /** The cumulative duration of the calls before each call: for a period, the difference of two of these. */
  sumNs: Float64Array;
  ticks: LoopTicks[];
}

/** Arranges the calls of each track by their depth. */
export function modelOf(columns: Columns, facts: TimelineFacts): Model {
  const { startNs, durationNs } = columns;
  const count = startNs.length;
  const depths = new Uint16Array(count);
  const rows: Row[] = [];
  const order = new Uint32Array(count);
  let first = 0;
  let total = 0;
  facts.tracks.forEach(({ calls }, track) => {
    const end = first + calls;
    const counts = nest(startNs, durationNs, depths, first, end);
    const next = counts.map((count, depth) => {
      rows.push({ track, depth, from: total, to: total + count });
      total += count;
      return total - count;
    });
    for (let call = first; call < end; call += 1) order[next[depths[call]!]!++] = call;
    first = end;
  });
  const model = {
    rows,
    startNs: new Float64Array(count),
    durationNs: new Float64Array(count),
    node: new Uint32Array(count),
    sumNs: new Float64Array(count + 1),
  };
  for (let index = 0; index < count; index += 1) {
    const source = order[index]!;
    model.startNs[index] = startNs[source]!;
    model.durationNs[index] = durationNs[source]!;
    model.node[index] = columns.node[source]!;
    model.sumNs[index + 1] = model.sumNs[index]! + durationNs[source]!;
  }
  return { ...model, ticks: ticksOf(model, columns.lateNs, facts) };
}

/** Writes the depth of each call of a track, and returns the number of calls per depth. */
function nest(startNs: Float64Array, durationNs: Float64Array, depths: Uint16Array, first: number, end: number): number[] {
  const open: number[] = [];
  const counts: number[] = [];
  for (let call = first; call < end; call += 1) {
    const start = startNs[call]!;
    while (open.length && open[open.length - 1]! <= start) open.pop();
    const depth = open.length;
    depths[call] = depth;
    counts[depth] = (counts[depth] ?? 0) + 1;
    open.push(start + durationNs[call]!);
  }
  return counts;
}

/** The index of the row that a call is on; -1 without a call. */
export function rowOf({ rows }: Pick<Model, "rows">, call: number): number {
  return call < 0 ? -1 : rows.findIndex(({ from, to }) => call >= from && call < to);
}

/** The first call of a row that begins at `ns` or later. */
export function firstFrom({ startNs }: Pick<Model, "startNs">, from: number, to: number, ns: number): number {
  // It is usually near: double the steps until past it, then bisect.
  let step = 1;
  let low = from;
  while (low < to && startNs[low]! < ns) {
    low += step;
    step *= 2;
  }
  let high = Math.min(low, to);
  low = Math.max(from, low - (step >> 1));
  while (low < high) {
    const middle = (low + high) >> 1;
    if (startNs[middle]! < ns) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The call of a row at a moment, or the nearest within `slackNs`; -1 if there is none. */
export function callAt(model: Model, row: Row, ns: number, slackNs: number): number {
  const next = firstFrom(model, row.from, row.to, ns);
  let best = -1;
  let nearest = slackNs;
  for (const call of [next - 1, next]) {
    if (call < row.from || call >= row.to) continue;
    const start = model.startNs[call]!;
    const away = Math.max(0, start - ns, ns - start - model.durationNs[call]!);
    if (away <= nearest) {
      best = call;
      nearest = away;
    }
  }
  return best;
}

/** The number of calls of wanted nodes before each call. */
export function countsOf(model: Model, isWanted: Uint8Array): Uint32Array {
  const counts = new Uint32Array(model.node.length + 1);
  for (let call = 0; call < model.node.length; call += 1) counts[call + 1] = counts[call]! + isWanted[model.node[call]!]!;
  return counts;
}

/** The index of the first entry with a larger cumulative count. */
export function firstCounted(counts: Uint32Array, from: number, to: number): number {
  const before = counts[from]!;
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (counts[middle + 1]! > before) high = middle;
    else low = middle + 1;
  }
  return low;
}
