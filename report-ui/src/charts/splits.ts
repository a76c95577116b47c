const MIN_LABELS = 3;

/** Round numbers for a logarithmic axis: the powers of ten, and as many numbers between them as fit. */
export function logSplits(low: number, high: number): number[] {
  const round = roundWithin(low, high);
  if (round.length >= MIN_LABELS) return round;
  // If the range is too narrow: equal steps, as on a linear axis.
  for (let size = 10 ** Math.floor(Math.log10(high - low)); ; size /= 10) {
    for (const step of [5 * size, 2 * size, size]) {
      const first = Math.ceil(low / step);
      const last = Math.floor(high / step);
      if (last - first + 1 >= MIN_LABELS) return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
    }
  }
}

function roundWithin(low: number, high: number): number[] {
  const decades = Math.log10(high / low);
  const steps = decades > 3 ? [1] : decades > 0.8 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8];
  const values: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
    values.push(...steps.map((step) => step * 10 ** power));
  }
  return values.filter((value) => value >= low && value <= high);
}
