/** What outputs/variants/html.py puts into the page. */

export interface Chief {
  label: string;
  loop: string | null;
  tick_ns: number | null;
  bottleneck: {
    path: string;
    name: string;
    share: number;
    hz: number | null;
    free_hz: number | null;
    speedup: number | null;
  } | null;
}

export interface LoopFacts {
  ticks: number;
  warmup_ticks: number;
  achieved_hz: number | null;
  hz: number | number[] | null;
  budget_ns: number | null;
  missed: number;
  count: number;
  mean_ns: number | null;
  min_ns: number | null;
  p50_ns: number | null;
  p90_ns: number | null;
  p99_ns: number | null;
  max_ns: number | null;
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
  variants: { runs: Chief[]; loops: { path: string; of: (LoopFacts | null)[] }[]; rows: VariantRow[] };
  view: {
    title: string;
    headline: string[];
    headlines: string[][];
    losses: string[][];
    facts: { key: string; of: string[] }[];
  };
}
