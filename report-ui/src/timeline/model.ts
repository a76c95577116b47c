import type { TimelineFacts } from "../types";
import type { Columns } from "./columns";
import { type LoopTicks, ticksOf } from "./ticks";

/** A line of the picture: calls of one track that are in equally many others. They follow each other. */
export interface Row {
  track: number;
  depth: number;
  from: number;
  to: number;
}

/** The calls row by row, as the picture reads them. */
export interface Model extends Omit<Columns, "lateNs"> {
  rows: Row[];
  /** The cumulative duration of the calls before each: the calls of a period are a difference of two of these. */
  sumNs: Float64Array;
  ticks: LoopTicks[];
}

/** Lays the calls of each track out by how deep they nest. */
export function modelOf(columns: Columns, facts: TimelineFacts): Model {
  const { startNs, durationNs } = columns;
  const count = startNs.length;
  const depths = new Uint16Array(count);
  const rows: Row[] = [];
  const order = new Uint32Array(count);
  let first = 0;
  let placed = 0;
  facts.tracks.forEach(({ calls }, track) => {
    const end = first + calls;
    const counts = nest(startNs, durationNs, depths, first, end);
    const next = counts.map((many, depth) => {
      rows.push({ track, depth, from: placed, to: placed + many });
      placed += many;
      return placed - many;
    });
    for (let at = first; at < end; at += 1) order[next[depths[at]!]!++] = at;
    first = end;
  });
  const model = {
    rows,
    startNs: new Float64Array(count),
    durationNs: new Float64Array(count),
    spot: new Uint32Array(count),
    sumNs: new Float64Array(count + 1),
  };
  for (let at = 0; at < count; at += 1) {
    const from = order[at]!;
    model.startNs[at] = startNs[from]!;
    model.durationNs[at] = durationNs[from]!;
    model.spot[at] = columns.spot[from]!;
    model.sumNs[at + 1] = model.sumNs[at]! + durationNs[from]!;
  }
  return { ...model, ticks: ticksOf(model, columns.lateNs, facts) };
}

/** Writes the depth of each call of a track, and returns the number of calls per depth. */
function nest(startNs: Float64Array, durationNs: Float64Array, depths: Uint16Array, first: number, end: number): number[] {
  const open: number[] = [];
  const counts: number[] = [];
  for (let at = first; at < end; at += 1) {
    const start = startNs[at]!;
    while (open.length && open[open.length - 1]! <= start) open.pop();
    const depth = open.length;
    depths[at] = depth;
    counts[depth] = (counts[depth] ?? 0) + 1;
    open.push(start + durationNs[at]!);
  }
  return counts;
}

/** The index of the row that a call is on; -1 without a call. */
export function rowOf({ rows }: Pick<Model, "rows">, call: number): number {
  return call < 0 ? -1 : rows.findIndex(({ from, to }) => call >= from && call < to);
}

/** The first call of a row that begins at `ns` or later. */
export function firstFrom({ startNs }: Pick<Model, "startNs">, from: number, to: number, ns: number): number {
  // It is usually near: double the steps until it is passed, then bisect.
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
  const after = firstFrom(model, row.from, row.to, ns);
  let best = -1;
  let nearest = slackNs;
  for (const at of [after - 1, after]) {
    if (at < row.from || at >= row.to) continue;
    const start = model.startNs[at]!;
    const away = Math.max(0, start - ns, ns - start - model.durationNs[at]!);
    if (away <= nearest) {
      best = at;
      nearest = away;
    }
  }
  return best;
}

/** How many of the calls before each are of the spots that are wanted. */
export function countsOf(model: Model, wanted: Uint8Array): Uint32Array {
  const counts = new Uint32Array(model.spot.length + 1);
  for (let at = 0; at < model.spot.length; at += 1) counts[at + 1] = counts[at]! + wanted[model.spot[at]!]!;
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
