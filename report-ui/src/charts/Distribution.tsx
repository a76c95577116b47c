import { useMemo } from "preact/hooks";
import uPlot from "uplot";
import * as format from "../format";
import { barsOf } from "../histogram";
import type { Stats } from "../types";
import { ink } from "../theme";
import { axis, markLine, Plot, type Plan, tick } from "./Plot";
import { logSplits } from "./splits";

const BARS = 96;
const MARKS = [["p50_ns", "p50"], ["p90_ns", "p90"], ["p99_ns", "p99"]] as const;

interface Props {
  stats: Stats;
  budgetNs: number | null;
  height: number;
}

/** How long calls or ticks take: the share of each duration, and of all that were not longer, on a logarithmic axis. */
export function Distribution({ stats, budgetNs, height }: Props) {
  const bars = useMemo(() => barsOf(stats.histogram, BARS), [stats]);
  const data = useMemo<uPlot.AlignedData>(
    () => [bars.edges, [...bars.parts, 0], [0, ...bars.cumulative]],
    [bars],
  );
  const low = bars.edges[0] ?? 1;
  const high = bars.edges[bars.edges.length - 1] ?? 2;
  const range: [number, number] = [
    Math.min(low, budgetNs ?? low) / 1.02,
    Math.max(high, budgetNs ?? high) * 1.02,
  ];
  const plan = (): Plan => ({
    scales: {
      x: { time: false, distr: 3, range: () => range },
      y: { range: (_plot, _low, max) => [0, (max || 1) * 1.08] },
      cumulative: { range: () => [0, 1.04] },
    },
    axes: [
      axis({
        splits: () => logSplits(...range),
        filter: (_plot, splits) => splits,
        values: (_plot, values) => values.map(tick),
        space: 40,
      }),
      axis({ size: 44, values: (_plot, values) => values.map((value) => format.share(value)) }),
      axis({
        scale: "cumulative",
        side: 1,
        size: 44,
        grid: { show: false },
        splits: () => [0, 0.5, 0.9, 0.99],
        values: (_plot, values) => values.map((value) => (value === 0.99 ? "" : format.share(value))),
      }),
    ],
    series: [
      {},
      {
        stroke: ink("bar"),
        fill: ink("bar-fill"),
        width: 1,
        paths: uPlot.paths.stepped!({ align: 1 }),
        points: { show: false },
      },
      { scale: "cumulative", stroke: ink("accent"), width: 1.5, points: { show: false } },
    ],
    hooks: {
      draw: [
        ...MARKS.map(([key, title], row) => (stats[key] === null ? () => {} : markLine("x", stats[key], title, ink("soft"), row))),
        ...(budgetNs === null ? [] : [markLine("x", budgetNs, "budget", ink("alarm"), MARKS.length)]),
      ],
    },
  });
  if (!bars.edges.length) return null;
  const label = `Distribution: median ${format.time(stats.p50_ns)}, p99 ${format.time(stats.p99_ns)}`;
  const read = (bar: number) => {
    if (bar >= bars.parts.length) return "";
    const [from, to] = [bars.edges[bar]!, bars.edges[bar + 1]!].map((ns) => format.time(Math.round(ns)));
    return `${from} to ${to}: ${format.share(bars.parts[bar])}; ${format.share(bars.cumulative[bar])} are not longer`;
  };
  return <Plot height={height} label={label} data={data} plan={plan} read={read} />;
}
