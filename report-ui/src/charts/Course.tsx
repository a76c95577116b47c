import { useMemo } from "preact/hooks";
import uPlot from "uplot";
import * as format from "../format";
import type { Loop, Windows } from "../types";
import { ink } from "../theme";
import { axis, durationAxis, FLAT, markLine, Plot, type Plan, tick } from "./Plot";

const NEAR_PX = 24;

interface Props {
  loop: Loop;
  windows: Windows;
  onPick: (worst: number) => void;
}

/** Ticks over the run: the mean of each period as a line, the worst ticks as dots that can be clicked. */
export function Course({ loop, windows, onPick }: Props) {
  const data = useMemo(() => courseOf(loop, windows), [loop, windows]);
  // The maximum of everything drawn: the first and the worst ticks may be longer than any steady one.
  const durations = [data[1], data[2]].flatMap((series) => [...(series as (number | null | undefined)[])]);
  const max = Math.max(loop.budget_ns ?? 0, ...durations.map((value) => value ?? 0));
  const isLog = max > FLAT * (loop.p50_ns ?? max);
  const positive = [...(data[1] as (number | null)[]), loop.budget_ns].filter((value): value is number => !!value);
  const low = isLog ? Math.min(...positive) / 1.5 : 0;
  const high = max * (isLog ? 1.4 : 1.08) || 1;
  const plan = (): Plan => ({
    scales: { x: { time: false }, y: { distr: isLog ? 3 : 1, range: () => [low, high] } },
    axes: [
      axis({ values: (_plot, all) => all.map((value) => tick(value * 1e9)), grid: { show: false } }),
      durationAxis(isLog, low, high),
    ],
    series: [
      {},
      { stroke: ink("bar"), width: 1.5, spanGaps: true, points: { show: false } },
      {
        stroke: ink("accent"),
        width: 0,
        paths: () => null,
        points: { show: true, size: 9, fill: ink("paper"), stroke: ink("accent"), width: 2 },
      },
    ],
    hooks: { draw: loop.budget_ns === null ? [] : [markLine("y", loop.budget_ns, "budget", ink("alarm"))] },
  });
  const pick = (left: number, top: number, plot: uPlot) => {
    const distances = loop.worst.map((tick) =>
      Math.hypot(plot.valToPos(endOf(tick), "x") - left, plot.valToPos(tick.duration_ns, "y") - top),
    );
    const nearest = distances.indexOf(Math.min(...distances));
    if ((distances[nearest] ?? Infinity) < NEAR_PX) onPick(nearest);
  };
  const read = (index: number) => {
    const [mean, worst] = [data[1]![index], data[2]![index]];
    const pieces = [mean ? `mean ${format.time(Math.round(mean))}` : "", worst ? `one of ${format.time(worst)}` : ""];
    return `at ${format.time(Math.round(data[0][index]! * 1e9))}: ${pieces.filter(Boolean).join(", ")}`;
  };
  return <Plot height={220} label="Duration of ticks over the run" data={data} plan={plan} onPick={pick} read={read} />;
}

function courseOf(loop: Loop, lengths: Windows): uPlot.AlignedData {
  const { width_ns: widthNs, counts, totals_ns: totals } = lengths;
  const sums = new Map(totals);
  const windows: [number[], number[]] = [[], []];
  for (const [index, count] of [...counts].sort((left, right) => left[0] - right[0])) {
    windows[0].push(((index + 0.5) * widthNs) / 1e9);
    windows[1].push((sums.get(index) ?? 0) / count);
  }
  const worst = [...loop.worst].sort((left, right) => endOf(left) - endOf(right));
  const data = uPlot.join([
    windows,
    [worst.map(endOf), worst.map((tick) => tick.duration_ns)],
  ]);
  return data as uPlot.AlignedData;
}

/** The end of a tick, in seconds since the run began; a tick belongs to the period in which it ended. */
function endOf(tick: { started_ns: number; duration_ns: number }): number {
  return (tick.started_ns + tick.duration_ns) / 1e9;
}
