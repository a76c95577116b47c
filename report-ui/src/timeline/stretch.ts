import { firstFrom, type Model, type Row } from "./model";
import { indexFrom, type LoopTicks, type Missed } from "./ticks";

// How far apart the beginnings of ticks are where they are drawn.
const BOUNDARIES_PX = 8;

/** The period that a strip shows, from its left edge. */
export interface Stretch {
  startNs: number;
  nsPerPx: number;
  widthPx: number;
}

/** Where the visible ticks begin, from the left; none if they are too close to each other. */
export function boundaries({ startNs: starts }: LoopTicks, { startNs, nsPerPx, widthPx }: Stretch): number[] {
  const from = indexFrom(starts, startNs);
  const to = indexFrom(starts, startNs + widthPx * nsPerPx);
  if ((to - from) * BOUNDARIES_PX > widthPx) return [];
  return Array.from(starts.subarray(from, to), (start) => Math.round((start - startNs) / nsPerPx));
}

/** What missed ticks cover, from left to right; of those that begin in one pixel, the first and the last. */
export function misses(model: Model, { calls, startNs: starts }: Missed, { startNs, nsPerPx, widthPx }: Stretch): [leftPx: number, rightPx: number][] {
  const found: [number, number][] = [];
  const end = startNs + widthPx * nsPerPx;
  let at = Math.max(0, indexFrom(starts, startNs) - 1);
  while (at < starts.length && starts[at]! < end) {
    const left = (starts[at]! - startNs) / nsPerPx;
    const right = left + model.durationNs[calls[at]!]! / nsPerPx;
    if (right >= 0) found.push([Math.max(0, left), Math.min(widthPx, right)]);
    // Two steps per pixel, however many begin there: only the last of them can be wider.
    at = Math.max(at + 1, indexFrom(starts, startNs + Math.floor(left + 1) * nsPerPx) - 1);
  }
  return found;
}

/** How many calls of a track were open in the time of each pixel, on average. */
export function density(model: Model, track: number, fromNs: number, nsPerPx: number, widthPx: number): Float64Array {
  const open = new Float64Array(widthPx);
  for (const row of model.rows) {
    if (row.track !== track) continue;
    let [at, before] = covered(model, row, row.from, fromNs);
    for (let px = 0; px < widthPx; px += 1) {
      const [next, after] = covered(model, row, at, fromNs + (px + 1) * nsPerPx);
      open[px]! += (after - before) / nsPerPx;
      [at, before] = [next, after];
    }
  }
  return open;
}

/** The first call of a row from a moment on, and the time that the calls before it cover up to that moment. */
function covered(model: Model, row: Row, from: number, ns: number): [next: number, coveredNs: number] {
  const next = firstFrom(model, from, row.to, ns);
  if (next === row.from) return [next, 0];
  const end = model.startNs[next - 1]! + model.durationNs[next - 1]!;
  return [next, model.sumNs[next]! - model.sumNs[row.from]! - Math.max(0, end - ns)];
}
