const WIDTH = 120;
const HEIGHT = 20;

/** A period of the run, and the smallest and largest value in it. */
export type Extent = [at: number, low: number, high: number];

/** A value over the run, in the height of a row: from 0 up, or from the smallest below it. */
export function Spark({ extents, label }: { extents: Extent[]; label: string }) {
  if (extents.length < 2) return null;
  const sorted = [...extents].sort((left, right) => left[0] - right[0]);
  const from = sorted[0]![0];
  const width = sorted[sorted.length - 1]![0] - from;
  const min = Math.min(0, ...sorted.map(([, low]) => low));
  const height = Math.max(...sorted.map(([, , high]) => high)) - min || 1;
  const point = (index: number, value: number) =>
    `${((WIDTH * (index - from)) / width).toFixed(1)},${(HEIGHT - 1 - ((HEIGHT - 3) * (value - min)) / height).toFixed(1)}`;
  // Along the largest values and back along the smallest: where both are equal, the outline is a line.
  const tops = sorted.map(([index, , high]) => point(index, high));
  const back = sorted.reverse().map(([index, low]) => point(index, low));
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      <polygon points={[...tops, ...back].join(" ")} />
    </svg>
  );
}
