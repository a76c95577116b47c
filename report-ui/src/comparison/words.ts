import * as format from "../format";
import type { Entry, Side, Verdict } from "./types";

/** In the order of interest to a reader. */
export const VERDICTS: readonly Verdict[] = ["slower", "faster", "only in base", "only in new", "no difference", "inconclusive"];
const RATES = [
  ["ticks_per_s", "ticks/s"],
  ["items_per_s", "items/s"],
  ["bytes_per_s", "B/s"],
  ["flops_per_s", "FLOP/s"],
] as const;

/** A shift as outputs/comparison/parts.py writes it: "+1.7%". */
export function signed(percent: number): string {
  const text = `${percent < 0 ? "" : "+"}${percent.toFixed(Math.abs(percent) >= 99.5 ? 0 : 1)}%`;
  return text === "+0.0%" || text === "-0.0%" ? "0.0%" : text;
}

export function shift(entry: Entry): string {
  return entry.shift_percent === null ? format.ABSENT : signed(entry.shift_percent);
}

export function interval(entry: Entry): string {
  if (entry.shift_percent === null) return format.ABSENT;
  if (entry.low_percent === null || entry.high_percent === null) return "too few values";
  return `${signed(entry.low_percent)} to ${signed(entry.high_percent)}`;
}

/** The interval of the shift, for the end of a sentence. */
export function between(entry: Entry): string {
  if (entry.low_percent === null || entry.high_percent === null) return "too few values for an interval";
  return `it lies between ${signed(entry.low_percent)} and ${signed(entry.high_percent)}`;
}

/** The work per second on a side. */
export function rates(side: Side): string[] {
  return RATES.flatMap(([key, unit]) => {
    const rate = side[key];
    if (rate === undefined) return [];
    const isCount = unit === "ticks/s" || unit === "items/s";
    return [isCount ? `${format.scaled(rate, "").trimEnd()} ${unit}` : format.scaled(rate, unit)];
  });
}

/** A verdict as people read it, as outputs/writing/formatting.py writes it. */
export function verdictText(verdict: Verdict): string {
  return verdict === "inconclusive" ? "cannot tell" : verdict;
}

/** The class of a verdict in style sheets. */
export function classOf(verdict: Verdict): string {
  return verdict.replaceAll(" ", "-");
}
