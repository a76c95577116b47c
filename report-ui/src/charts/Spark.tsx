import type { Windows } from "../types";

const WIDTH = 120;
const HEIGHT = 20;

/** The mean tick of each period of the run as a line from 0 up, in the height of a row. */
export function Spark({ windows, label }: { windows: Windows | undefined; label: string }) {
  if (!windows || windows.counts.length < 2) return null;
  const sums = new Map(windows.totals_ns);
  const points = [...windows.counts]
    .sort((left, right) => left[0] - right[0])
    .map(([at, count]): [number, number] => [at, (sums.get(at) ?? 0) / count]);
  const from = points[0]![0];
  const wide = points[points.length - 1]![0] - from || 1;
  const most = Math.max(...points.map(([, ns]) => ns)) || 1;
  const line = points
    .map(([at, ns]) => `${((WIDTH * (at - from)) / wide).toFixed(1)},${(HEIGHT - 1 - ((HEIGHT - 3) * ns) / most).toFixed(1)}`)
    .join(" ");
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <polyline points={line} />
    </svg>
  );
}
