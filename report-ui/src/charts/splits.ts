const LEAST_LABELS = 3;

/** Round numbers within bounds for a logarithmic axis: the powers of ten, and as many between them as there is room for. */
export function logSplits(low: number, high: number): number[] {
  const found = roundWithin(low, high);
  if (found.length >= LEAST_LABELS) return found;
  // Too narrow for those: equal steps, as on a linear axis.
  for (let size = 10 ** Math.floor(Math.log10(high - low)); ; size /= 10) {
    for (const step of [5 * size, 2 * size, size]) {
      const first = Math.ceil(low / step);
      const last = Math.floor(high / step);
      if (last - first + 1 >= LEAST_LABELS) return Array.from({ length: last - first + 1 }, (_, at) => (first + at) * step);
    }
  }
}

function roundWithin(low: number, high: number): number[] {
  const decades = Math.log10(high / low);
  const steps = decades > 3 ? [1] : decades > 0.8 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8];
  const found: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
    found.push(...steps.map((step) => step * 10 ** power));
  }
  return found.filter((value) => value >= low && value <= high);
}
