import { firstFrom, type Model, type Row } from "./model";
import { indexFrom, type LoopTicks, type Missed } from "./ticks";

// The minimum distance between starts of ticks that are drawn.
const BOUNDARIES_PX = 8;

/** The period that a strip shows. */
export interface Stretch {
  startNs: number;
  nsPerPx: number;
  widthPx: number;
}

/** The starts of the visible ticks, in pixels; empty if they are too close together. */
export function boundaries({ startNs: starts }: LoopTicks, { startNs, nsPerPx, widthPx }: Stretch): number[] {
  const from = indexFrom(starts, startNs);
  const to = indexFrom(starts, startNs + widthPx * nsPerPx);
  if ((to - from) * BOUNDARIES_PX > widthPx) return [];
  return Array.from(starts.subarray(from, to), (start) => Math.round((start - startNs) / nsPerPx));
}

/** The spans of missed ticks; of those that begin in the same pixel, the first and the last. */
export function misses(model: Model, { calls, startNs: starts }: Missed, { startNs, nsPerPx, widthPx }: Stretch): [leftPx: number, rightPx: number][] {
  const spans: [number, number][] = [];
  const end = startNs + widthPx * nsPerPx;
  let index = Math.max(0, indexFrom(starts, startNs) - 1);
  while (index < starts.length && starts[index]! < end) {
    const left = (starts[index]! - startNs) / nsPerPx;
    const right = left + model.durationNs[calls[index]!]! / nsPerPx;
    if (right >= 0) spans.push([Math.max(0, left), Math.min(widthPx, right)]);
    // Two steps per pixel, however many ticks begin there: only the last of them can be wider.
    index = Math.max(index + 1, indexFrom(starts, startNs + Math.floor(left + 1) * nsPerPx) - 1);
  }
  return spans;
}

/** The mean number of open calls of a track in the time of each pixel. */
export function density(model: Model, track: number, fromNs: number, nsPerPx: number, widthPx: number): Float64Array {
  const open = new Float64Array(widthPx);
  for (const row of model.rows) {
    if (row.track !== track) continue;
    let [call, before] = coveredTime(model, row, row.from, fromNs);
    for (let px = 0; px < widthPx; px += 1) {
      const [next, after] = coveredTime(model, row, call, fromNs + (px + 1) * nsPerPx);
      open[px]! += (after - before) / nsPerPx;
      [call, before] = [next, after];
    }
  }
  return open;
}

/** The first call of a row from a moment on, and the time that the calls before it cover up to that moment. */
function coveredTime(model: Model, row: Row, from: number, ns: number): [next: number, coveredNs: number] {
  const next = firstFrom(model, from, row.to, ns);
  if (next === row.from) return [next, 0];
  const end = model.startNs[next - 1]! + model.durationNs[next - 1]!;
  return [next, model.sumNs[next]! - model.sumNs[row.from]! - Math.max(0, end - ns)];
}
