const UNITS = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
] as const;

/** Round moments of a period, at least `minNs` apart. */
export function moments(fromNs: number, toNs: number, minNs: number): { stepNs: number; at: number[] } {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, minNs)));
  const stepNs = [1, 2, 5, 10].map((times) => times * power).find((step) => step >= minNs) ?? 10 * power;
  const moments: number[] = [];
  for (let moment = Math.ceil(fromNs / stepNs) * stepNs; moment <= toNs; moment += stepNs) moments.push(moment);
  return { stepNs, at: moments };
}

/** A moment since the run began, in the unit of the steps, with enough digits to distinguish neighbours. */
export function moment(ns: number, stepNs: number): string {
  const [unitNs, unit] = UNITS.find(([size]) => stepNs >= size / 1000 && ns >= size) ?? UNITS[3];
  const digits = Math.max(0, Math.ceil(-Math.log10(stepNs / unitNs) - 1e-9));
  return `${(ns / unitNs).toFixed(digits)} ${ns ? unit : "s"}`;
}
