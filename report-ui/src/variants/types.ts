/** What outputs/variants.py puts into the page. */

export interface Run {
  label: string;
  pace: string;
  bottleneck: { name: string; words: string } | null;
}

/** Nanoseconds of a loop's steady ticks. */
export interface Spread {
  p50_ns: number;
  p99_ns: number;
  max_ns: number;
  budget_ns: number | null;
}

export interface LoopTable {
  title: string;
  heads: string[];
  rows: { label: string; cells: string[]; tone: string; spread: Spread | null }[];
}

export interface Cell {
  count?: number;
  mean_ns?: number | null;
  p50_ns?: number | null;
  p90_ns?: number | null;
  p99_ns?: number | null;
  max_ns?: number | null;
  total_ns?: number;
  share: number | null;
  site?: string | null;
}

export interface VariantRow {
  kind: "section" | "self";
  path: string;
  name: string;
  depth: number;
  wait: boolean;
  of: (Cell | null)[];
}

export interface VariantsPayload {
  variants: { runs: Run[]; loops: LoopTable[]; rows: VariantRow[] };
  view: {
    title: string;
    headline: string[];
    headlines: string[][];
    losses: string[][];
    facts: { key: string; of: string[] }[];
  };
}
