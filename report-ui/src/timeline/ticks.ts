import type { TimelineFacts } from "../types";
import { firstFrom, type Model, type Row } from "./model";

/** The ticks of one loop on one track, by start. */
export interface LoopTicks {
  track: number;
  node: number;
  /** The number of the first tick in its thread's loop; null if unknown. */
  first: number | null;
  calls: Uint32Array;
  startNs: Float64Array;
  /** 0 for ticks that were not missed. */
  lateNs: Float64Array;
  missed: Missed;
}

/** The ticks that were missed, for a search by time. */
export interface Missed {
  calls: Uint32Array;
  startNs: Float64Array;
}

/** A tick among those of its loop. */
export interface Tick {
  number: number | null;
  lateNs: number;
}

type Calls = Pick<Model, "rows" | "startNs" | "durationNs" | "node">;

/** Finds the ticks among the calls; their lateness is in the order of `facts.ticks`. */
export function ticksOf(model: Calls, lateNs: Float64Array, facts: TimelineFacts): LoopTicks[] {
  let from = 0;
  return facts.ticks.map(([track, node, first, count]) => {
    const calls = callsOf(model, track, node, count);
    const late = lateNs.subarray(from, (from += count));
    const missed = calls.filter((_, i) => late[i]! > 0);
    const starts = (selection: Uint32Array) => Float64Array.from(selection, (call) => model.startNs[call]!);
    return { track, node, first, calls, startNs: starts(calls), lateNs: late, missed: { calls: missed, startNs: starts(missed) } };
  });
}

function callsOf({ rows, startNs, node: nodes }: Calls, track: number, node: number, count: number): Uint32Array {
  const calls = new Uint32Array(count);
  let next = 0;
  const isOf = (row: Row) => row.track === track;
  for (const { from, to } of rows.filter(isOf)) {
    for (let call = from; call < to; call += 1) if (nodes[call] === node) calls[next++] = call;
  }
  const isSorted = calls.every((call, i) => !i || startNs[calls[i - 1]!]! <= startNs[call]!);
  return isSorted ? calls : calls.sort((left, right) => startNs[left]! - startNs[right]!);
}

/** The ticks whose starts are marked: those of the first loop that has any, on its first track. */
export function leading(ticks: readonly LoopTicks[], facts: TimelineFacts, loops: readonly string[]): LoopTicks | null {
  for (const path of loops) {
    const loopTicks = ticks.find(({ node }) => facts.nodes[node]![0] === path);
    if (loopTicks) return loopTicks;
  }
  return null;
}

/** The tick that a call is; null if it is not a tick. */
export function tickOf(model: Model, call: number): Tick | null {
  const node = model.node[call];
  for (const { node: loop, calls, startNs, first, lateNs } of model.ticks) {
    if (loop !== node) continue;
    // Ticks of no duration begin together.
    for (let index = indexFrom(startNs, model.startNs[call]!); startNs[index] === model.startNs[call]; index += 1) {
      if (calls[index] === call) return { number: first === null ? null : first + index, lateNs: lateNs[index]! };
    }
  }
  return null;
}

/** The tick at a moment of the axis: a missed tick within `slackNs`, else the tick of `lead`; -1 if there is none. */
export function tickAt(model: Model, lead: LoopTicks | null, ns: number, slackNs: number): number {
  for (const { missed } of model.ticks) {
    const call = lastAt(model, missed, ns, slackNs);
    if (call >= 0) return call;
  }
  return lead ? lastAt(model, lead, ns, 0) : -1;
}

function lastAt(model: Model, { calls, startNs }: Missed, ns: number, slackNs: number): number {
  const index = indexFrom(startNs, ns + slackNs + 1) - 1;
  if (index < 0) return -1;
  const call = calls[index]!;
  return startNs[index]! + model.durationNs[call]! + slackNs >= ns ? call : -1;
}

/** The index of the first start at `ns` or later. */
export function indexFrom(startNs: Float64Array, ns: number): number {
  return firstFrom({ startNs }, 0, startNs.length, ns);
}
