import type { Pairs } from "./types";

const BUCKETS_PER_OCTAVE = 32;

/** Where a bucket begins: docs/file-format.md, Histograms. */
export function startOf(bucket: number): number {
  return 2 ** (bucket / BUCKETS_PER_OCTAVE);
}

export interface Bars {
  /** The start of each bar, and the end of the last bar. */
  edges: number[];
  /** Part of all calls in each bar. */
  parts: number[];
  /** Part of all calls that were not longer than each bar's end. */
  cumulative: number[];
}

/** A histogram in at most about `maxBars` bars, equally wide on a logarithmic axis; a bar may have several buckets. */
export function barsOf(histogram: Pairs, maxBars: number): Bars {
  const total = histogram.reduce((sum, [, count]) => sum + count, 0);
  if (!total) return { edges: [], parts: [], cumulative: [] };
  const buckets = histogram.map(([bucket]) => bucket);
  const first = Math.min(...buckets);
  const last = Math.max(...buckets);
  const width = Math.max(1, Math.ceil((last - first + 1) / maxBars));
  const counts = new Array<number>(Math.floor((last - first) / width) + 1).fill(0);
  for (const [bucket, count] of histogram) counts[Math.floor((bucket - first) / width)]! += count;
  let passed = 0;
  return {
    edges: Array.from({ length: counts.length + 1 }, (_, i) => startOf(first + i * width)),
    parts: counts.map((count) => count / total),
    cumulative: counts.map((count) => (passed += count) / total),
  };
}
