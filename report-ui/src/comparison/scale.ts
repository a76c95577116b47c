import type { Entry } from "./types";

// A quarter of the time and four times as much: larger changes are drawn at the edge.
const FURTHEST = Math.log(4);
const TICKS = [-75, -50, -33, -20, -10, -5, -2, 0, 2, 5, 10, 25, 50, 100, 200, 300];
const MIN_DISTANCE = 0.13;

/** The axis of shifts: ratios, so that twice as long is as far to the right as half as long to the left. */
export interface Scale {
  /** The logarithm of the ratio at the edges. */
  edge: number;
  /** From 0 at the left edge to 1 at the right; beyond these outside the axis. */
  position: (percent: number) => number;
  ticks: number[];
}

export function scaleOf(entries: readonly Entry[], thresholdPercent: number): Scale {
  const significant = entries.filter((entry) => entry.verdict === "faster" || entry.verdict === "slower");
  const distances = (significant.length ? significant : entries)
    .flatMap((entry) => [entry.low_percent ?? entry.shift_percent, entry.high_percent ?? entry.shift_percent])
    .filter((percent) => percent !== null)
    .map((percent) => Math.abs(logOf(percent)));
  const edge = Math.min(FURTHEST, Math.max(3 * logOf(thresholdPercent), 1.15 * Math.max(0, ...distances.filter(Number.isFinite))));
  const position = (percent: number) => 0.5 + logOf(percent) / (2 * edge);
  const ticks: number[] = [];
  for (const tick of [0, ...TICKS.filter((tick) => tick).sort((left, right) => Math.abs(right) - Math.abs(left))]) {
    const x = position(tick);
    if (x > 0.03 && x < 0.97 && ticks.every((other) => Math.abs(position(other) - x) > MIN_DISTANCE)) ticks.push(tick);
  }
  return { edge, position, ticks: ticks.sort((left, right) => left - right) };
}

export function logOf(percent: number): number {
  return Math.log(Math.max(1e-9, 1 + percent / 100));
}
