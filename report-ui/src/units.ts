import type { TreeNode, Unit } from "./types";

/** What each unit had of a node, in nanoseconds; null where it had nothing to do with it. */
export type Had = readonly (number | null)[];

// Where each writer's row of a node has them: docs/file-format.md.
const TOTAL = 2;
const OWN = 3;

/** How far apart those are that had any. */
export interface Spread {
  units: number;
  minNs: number;
  medianNs: number;
  maxNs: number;
  slowest: number;
}

/** Which unit each writer is of, by the writer's place. */
export function unitOf(units: readonly Unit[]): Map<number, number> {
  return new Map(units.flatMap((unit, at) => unit.writers.map((writer) => [writer, at] as const)));
}

/** Each unit's part of a node's total time, or of its self time. */
export function had(node: TreeNode, isOwn: boolean, unitOf: ReadonlyMap<number, number>, count: number): Had {
  const amounts = new Array<number | null>(count).fill(null);
  for (const row of node.by_writer ?? []) {
    const unit = unitOf.get(row[0]);
    if (unit !== undefined) amounts[unit] = (amounts[unit] ?? 0) + row[isOwn ? OWN : TOTAL];
  }
  return amounts;
}

/** As in analysis/workers/roles.py: of several with the maximum, the first is the slowest. */
export function spreadOf(amounts: Had): Spread | null {
  const present = amounts.filter((ns) => ns !== null).sort((left, right) => left - right);
  if (!present.length) return null;
  const maxNs = present[present.length - 1]!;
  const middle = present.length >> 1;
  const medianNs = present.length % 2 ? present[middle]! : even((present[middle - 1]! + present[middle]!) / 2);
  return { units: present.length, minNs: present[0]!, medianNs, maxNs, slowest: amounts.indexOf(maxNs) };
}

/** Rounded as Python rounds: a half goes to the even one. */
function even(value: number): number {
  const down = Math.floor(value);
  return value - down === 0.5 ? down + (down % 2) : Math.round(value);
}
