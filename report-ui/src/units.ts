import type { TreeNode, Unit } from "./types";

/** Each unit's time in a node, in nanoseconds; null if it did not take part. */
export type Had = readonly (number | null)[];

// Their columns in each thread's row of a node: docs/file-format.md.
const TOTAL = 2;
const OWN = 3;

/** The spread of the units with any time. */
export interface Spread {
  units: number;
  minNs: number;
  medianNs: number;
  maxNs: number;
  slowest: number;
}

/** The index of each thread's unit, by the index of the thread. */
export function unitOf(units: readonly Unit[]): Map<number, number> {
  return new Map(units.flatMap((unit, index) => unit.threads.map((thread) => [thread, index] as const)));
}

/** Each unit's part of a node's total time, or of its self time. */
export function timesByUnit(node: TreeNode, isOwn: boolean, unitOf: ReadonlyMap<number, number>, count: number): Had {
  const amounts = new Array<number | null>(count).fill(null);
  for (const row of node.by_thread ?? []) {
    const unit = unitOf.get(row[0]);
    if (unit !== undefined) amounts[unit] = (amounts[unit] ?? 0) + row[isOwn ? OWN : TOTAL];
  }
  return amounts;
}

/** As in analysis/workers/roles.py: of several units with the maximum, the first is the slowest. */
export function spreadOf(amounts: Had): Spread | null {
  const present = amounts.filter((ns) => ns !== null).sort((left, right) => left - right);
  if (!present.length) return null;
  const maxNs = present[present.length - 1]!;
  const middle = present.length >> 1;
  const medianNs = present.length % 2 ? present[middle]! : even((present[middle - 1]! + present[middle]!) / 2);
  return { units: present.length, minNs: present[0]!, medianNs, maxNs, slowest: amounts.indexOf(maxNs) };
}

/** Rounded as Python rounds: a half goes to the even number. */
function even(value: number): number {
  const down = Math.floor(value);
  return value - down === 0.5 ? down + (down % 2) : Math.round(value);
}
