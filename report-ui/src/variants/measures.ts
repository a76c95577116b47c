import * as format from "../format";
import type { Cell } from "./types";

export type Measure = "mean" | "p50" | "p99" | "max" | "share" | "calls" | "total";

/** The value of the cells: how it is read and formatted. */
export const MEASURES: Record<Measure, { of: (cell: Cell) => number | null; text: (value: number | null) => string }> = {
  mean: { of: (cell) => cell.mean_ns ?? null, text: format.time },
  p50: { of: (cell) => cell.p50_ns ?? null, text: format.time },
  p99: { of: (cell) => cell.p99_ns ?? null, text: format.time },
  max: { of: (cell) => cell.max_ns ?? null, text: format.time },
  total: { of: (cell) => cell.total_ns ?? null, text: format.time },
  share: { of: (cell) => cell.share, text: format.share },
  calls: { of: (cell) => cell.count ?? null, text: format.count },
};
