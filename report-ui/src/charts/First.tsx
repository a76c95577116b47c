import { useMemo } from "preact/hooks";
import type uPlot from "uplot";
import * as format from "../format";
import type { Loop } from "../types";
import { ink } from "../theme";
import { axis, durationAxis, FLAT, markLine, Plot, type Plan } from "./Plot";

/** The first ticks one by one: how a loop warms up. */
export function First({ loop, durations }: { loop: Loop; durations: number[] }) {
  const data = useMemo<uPlot.AlignedData>(() => [durations.map((_, i) => i + 1), durations], [durations]);
  const budget = loop.budget_ns;
  const max = Math.max(...durations, budget ?? 0);
  const min = Math.max(1, Math.min(...durations, budget ?? Infinity));
  const isLog = max > FLAT * (loop.p50_ns ?? max);
  const [low, high] = isLog ? [min / 1.5, max * 1.4] : [0, max * (loop.warmup_ticks ? 1.25 : 1.08)];
  const plan = (): Plan => ({
    scales: {
      x: { time: false, range: () => [0, durations.length + 1] },
      y: { distr: isLog ? 3 : 1, range: () => [low, high] },
    },
    axes: [
      axis({ grid: { show: false }, incrs: [1, 2, 5, 10, 20, 50], values: (_plot, all) => all.map((value) => (value ? format.count(value) : "")) }),
      durationAxis(isLog, low, high),
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
        ...(budget === null ? [] : [markLine("y", budget, "budget", ink("alarm"))]),
        ...(loop.warmup_ticks && loop.warmup_ticks < durations.length
          ? [markLine("x", loop.warmup_ticks + 0.5, "steady from here", ink("faint"))]
          : []),
      ],
    },
  });
  const read = (index: number) => `tick ${format.count(index + 1)}: ${format.time(durations[index])}`;
  return <Plot height={220} label={`The first ${durations.length} ticks`} data={data} plan={plan} read={read} />;
}
