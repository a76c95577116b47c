/** `compare --format json` (docs/comparison.md), and what outputs/comparison/html.py adds. */

export type Verdict = "faster" | "slower" | "no difference" | "inconclusive" | "only in base" | "only in new";

export interface Side {
  count: number;
  min_ns: number | null;
  max_ns: number | null;
  units: number;
  ticks_per_s?: number;
  bytes_per_s?: number;
  flops_per_s?: number;
  items_per_s?: number;
}

export interface Entry {
  path: string;
  kind: "node" | "loop";
  verdict: Verdict;
  shift_percent: number | null;
  low_percent: number | null;
  high_percent: number | null;
  base_mean_ns: number | null;
  new_mean_ns: number | null;
  base: Side;
  new: Side;
  renamed?: string;
}

export interface Comparison {
  schema: string;
  threshold_percent: number;
  unit: "runs" | "pairs" | "blocks";
  entries: Entry[];
  differences: { key: string; base: string; new: string }[];
}

export interface ComparisonView {
  title: string;
  headline: string[];
  remarks: string[];
  /** Whether each difference alone may make anything faster or slower. */
  grounds: boolean[];
}

export interface ComparisonPayload {
  comparison: Comparison;
  view: ComparisonView;
}
