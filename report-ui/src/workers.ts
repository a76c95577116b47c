import type { TreeNode, WorkerColumn } from "./types";

/** Each worker's time in a node, in nanoseconds; null if it did not take part. */
export type Had = readonly (number | null)[];

// Their columns in each thread's row of a node: docs/file-format.md.
const TOTAL = 2;
const OWN = 3;

/** The spread of the workers with any time. */
export interface Spread {
  workers: number;
  minNs: number;
  medianNs: number;
  maxNs: number;
  slowest: number;
}

/** The index of each thread's worker, by the index of the thread. */
export function workerOf(workers: readonly WorkerColumn[]): Map<number, number> {
  return new Map(workers.flatMap((worker, index) => worker.threads.map((thread) => [thread, index] as const)));
}

/** Each worker's part of a node's total time, or of its self time. */
export function timesByWorker(node: TreeNode, isOwn: boolean, workerOf: ReadonlyMap<number, number>, count: number): Had {
  const amounts = new Array<number | null>(count).fill(null);
  for (const row of node.by_thread ?? []) {
    const worker = workerOf.get(row[0]);
    if (worker !== undefined) amounts[worker] = (amounts[worker] ?? 0) + row[isOwn ? OWN : TOTAL];
  }
  return amounts;
}

/** As in analysis/workers/roles.py: of several workers with the maximum, the first is the slowest. */
export function spreadOf(amounts: Had): Spread | null {
  const present = amounts.filter((ns) => ns !== null).sort((left, right) => left - right);
  if (!present.length) return null;
  const maxNs = present[present.length - 1]!;
  const middle = present.length >> 1;
  const medianNs = present.length % 2 ? present[middle]! : even((present[middle - 1]! + present[middle]!) / 2);
  return { workers: present.length, minNs: present[0]!, medianNs, maxNs, slowest: amounts.indexOf(maxNs) };
}

/** Rounded as Python rounds: a half goes to the even number. */
function even(value: number): number {
  const down = Math.floor(value);
  return value - down === 0.5 ? down + (down % 2) : Math.round(value);
}
