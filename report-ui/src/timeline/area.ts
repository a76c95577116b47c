import { firstFrom, type Model } from "./model";

/** A span of time on one track. */
export interface Area {
  fromNs: number;
  toNs: number;
  track: number;
  /** Whether its end still moves. */
  isOpen: boolean;
}

/** A section's part of an area. */
export interface SectionSum {
  node: number;
  selfNs: number;
  calls: number;
}

export interface AreaSums {
  /** The largest self time first. */
  sections: SectionSum[];
  /** The time in which no call was open. */
  outsideNs: number;
}

/** The self time of each section in an area, and the number of its calls that were open there; the times sum to the area. */
export function sumsOf(model: Model, { track, fromNs, toNs }: Area): AreaSums {
  const { startNs, durationNs, node: nodes } = model;
  const sections = new Map<number, SectionSum>();
  let outsideNs = toNs - fromNs;
  let above = null as Part | null;
  for (const part of partsOf(model, track, fromNs, toNs)) {
    let parent = above?.from ?? -1;
    for (let call = part.from; call < part.to; call += 1) {
      const start = startNs[call]!;
      const tookNs = Math.max(0, Math.min(toNs, start + durationNs[call]!) - Math.max(fromNs, start));
      const sum = sections.get(nodes[call]!) ?? { node: nodes[call]!, selfNs: 0, calls: 0 };
      sections.set(sum.node, sum);
      sum.selfNs += tookNs;
      sum.calls += 1;
      if (!above) outsideNs -= tookNs;
      else {
        // The last call of the row above that began before it.
        while (parent + 1 < above.to && startNs[parent + 1]! <= start) parent += 1;
        sections.get(nodes[parent]!)!.selfNs -= tookNs;
      }
    }
    above = part;
  }
  const sorted = [...sections.values()].sort((left, right) => right.selfNs - left.selfNs || left.node - right.node);
  return { sections: sorted, outsideNs };
}

/** The number of calls in an area: the cost of its sums. */
export function callsIn(model: Model, { track, fromNs, toNs }: Area): number {
  return partsOf(model, track, fromNs, toNs).reduce((sum, { from, to }) => sum + to - from, 0);
}

/** The calls of one row that are in a period. */
interface Part {
  from: number;
  to: number;
}

function partsOf(model: Model, track: number, fromNs: number, toNs: number): Part[] {
  const { startNs, durationNs } = model;
  const parts: Part[] = [];
  for (const row of model.rows) {
    if (row.track !== track) continue;
    let from = firstFrom(model, row.from, row.to, fromNs);
    const before = from - 1;
    if (before >= row.from && startNs[before]! + durationNs[before]! > fromNs) from = before;
    const to = firstFrom(model, from, row.to, toNs);
    // Deeper calls are in these.
    if (to <= from) break;
    parts.push({ from, to });
  }
  return parts;
}
