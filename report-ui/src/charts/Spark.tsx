const WIDTH = 120;
const HEIGHT = 20;

/** A period of the run, and the smallest and largest value in it. */
export type Extent = [at: number, low: number, high: number];

/** A value over the run, in the height of a row: from 0 up, or from the smallest below it. */
export function Spark({ extents, label }: { extents: Extent[]; label: string }) {
  if (extents.length < 2) return null;
  const all = [...extents].sort((left, right) => left[0] - right[0]);
  const from = all[0]![0];
  const wide = all[all.length - 1]![0] - from;
  const least = Math.min(0, ...all.map(([, low]) => low));
  const tall = Math.max(...all.map(([, , high]) => high)) - least || 1;
  const point = (at: number, value: number) =>
    `${((WIDTH * (at - from)) / wide).toFixed(1)},${(HEIGHT - 1 - ((HEIGHT - 3) * (value - least)) / tall).toFixed(1)}`;
  // There along the largest and back along the smallest: where both are the same, the outline is a line.
  const there = all.map(([at, , high]) => point(at, high));
  const back = all.reverse().map(([at, low]) => point(at, low));
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <polygon points={[...there, ...back].join(" ")} />
    </svg>
  );
}
