import { useMemo } from "preact/hooks";
import type uPlot from "uplot";
import * as format from "../format";
import type { Loop } from "../types";
import { ink } from "../theme";
import { axis, marked, Plot, type Plan, tick } from "./Plot";
import { logSplits } from "./splits";

const FLAT = 12;

/** The first ticks one by one: how a loop warms up. */
export function First({ loop, durations }: { loop: Loop; durations: number[] }) {
  const data = useMemo<uPlot.AlignedData>(() => [durations.map((_, at) => at + 1), durations], [durations]);
  const budget = loop.budget_ns;
  const most = Math.max(...durations, budget ?? 0);
  const least = Math.max(1, Math.min(...durations, budget ?? Infinity));
  const isLog = most > FLAT * (loop.p50_ns ?? most);
  const [low, high] = isLog ? [least / 1.5, most * 1.4] : [0, most * (loop.warmup_ticks ? 1.25 : 1.08)];
  const plan = (): Plan => ({
    cursor: { y: false, points: { show: false } },
    legend: { show: false },
    scales: {
      x: { time: false, range: () => [0, durations.length + 1] },
      y: { distr: isLog ? 3 : 1, range: () => [low, high] },
    },
    axes: [
      axis({ grid: { show: false }, incrs: [1, 2, 5, 10, 20, 50], values: (_plot, all) => all.map((value) => (value ? format.count(value) : "")) }),
      axis({
        size: 60,
        ...(isLog ? { splits: () => logSplits(low, high), filter: (_plot: uPlot, splits: number[]) => splits } : {}),
        values: (_plot, all) => all.map(tick),
      }),
    ],
    series: [
      {},
      {
        stroke: ink("hair-strong"),
        width: 1,
        points: { show: true, size: 5, width: 0, fill: ink("bar"), stroke: ink("bar") },
      },
    ],
    hooks: {
      draw: [
        ...(budget === null ? [] : [marked("y", budget, "budget", ink("alarm"))]),
        ...(loop.warmup_ticks && loop.warmup_ticks < durations.length
          ? [marked("x", loop.warmup_ticks + 0.5, "steady from here", ink("faint"))]
          : []),
      ],
    },
  });
  const read = (at: number) => `tick ${format.count(at + 1)}: ${format.time(durations[at])}`;
  return <Plot height={220} label={`The first ${durations.length} ticks`} data={data} plan={plan} read={read} />;
}
