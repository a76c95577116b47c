/** Numbers for people, digit for digit as outputs/writing/formatting.py writes them; tests/formatting.json checks both. */

export const ABSENT = "-";

const SECOND = 1e9;
// A time is written in the first unit in which it is below the limit.
const TIMES: readonly (readonly [limit: number, unitNs: number, unit: string])[] = [
  [1e3, 1, "ns"],
  [1e6, 1e3, "µs"],
  [1e9, 1e6, "ms"],
  [1000 * SECOND, SECOND, "s"],
  [6000 * SECOND, 60 * SECOND, "min"],
  [360_000 * SECOND, 3600 * SECOND, "h"],
  [Infinity, 86_400 * SECOND, "d"],
];
const PREFIXES = ["", "k", "M", "G", "T", "P", "E", "Z", "Y"];

export function time(ns: number | null | undefined): string {
  if (ns === null || ns === undefined) return ABSENT;
  if (ns < 0) return `-${time(-ns)}`;
  // At 999.5 three digits round to 1000, which is 1.00 of the next unit.
  const [, unitNs, unit] = TIMES.find(([limit]) => ns < limit * 0.9995) ?? TIMES[TIMES.length - 1]!;
  return `${Number.isInteger(ns) && unit === "ns" ? ns : significant(ns / unitNs)} ${unit}`;
}

export function count(number: number | null | undefined): string {
  if (number === null || number === undefined) return ABSENT;
  return Math.abs(number) < 10_000_000 ? number.toLocaleString("en-US") : scaled(number, "").trimEnd();
}

export function hertz(hz: number | null | undefined): string {
  return hz === null || hz === undefined ? ABSENT : scaled(hz, "Hz");
}

/** A number with its unit and its new value: "22.0 → 39.0 Hz", "950 Hz → 1.20 kHz". */
export function change(before: string, after: string): string {
  const [number, unit] = before.split(" ");
  return `${unit && after.endsWith(` ${unit}`) ? number : before} → ${after}`;
}

export function share(part: number | null | undefined): string {
  if (part === null || part === undefined) return ABSENT;
  const percent = 100 * part;
  const size = Math.abs(percent);
  if (size < 0.00005) return "0%";
  if (size < 0.095) return `${rounded(percent, 2)}%`;
  if (size < 9.95) return `${rounded(percent, 1)}%`;
  return `${size < 999_999.5 ? rounded(percent, 0) : general(percent)}%`;
}

export function reading(value: number | null | undefined): string {
  if (value === null || value === undefined) return ABSENT;
  const size = Math.abs(value);
  if (size < 10_000_000 && (Number.isInteger(value) || size >= 1000)) return Number(rounded(value, 0)).toLocaleString("en-US");
  return general(value);
}

/** Python's `.4g`. */
function general(value: number): string {
  const [mantissa, power] = value.toExponential(3).split("e") as [string, string];
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 4) return String(Number(value.toPrecision(4)));
  const sign = exponent < 0 ? "-" : "+";
  return `${String(Number(mantissa))}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

export function scaled(amount: number, unit: string): string {
  let magnitude = Math.abs(amount);
  let prefix = 0;
  while (magnitude >= 999.5 && prefix < PREFIXES.length - 1) {
    magnitude /= 1000;
    prefix += 1;
  }
  const number = !prefix && Number.isInteger(magnitude) ? String(magnitude) : significant(magnitude);
  return `${amount < 0 ? "-" : ""}${number} ${PREFIXES[prefix]}${unit}`;
}

export function significant(value: number): string {
  if (value < 0.9995) return rounded(value, 3);
  if (value < 9.995) return rounded(value, 2);
  return value < 99.95 ? rounded(value, 1) : rounded(value, 0);
}

/** As Python rounds: a value exactly between two goes to the even one; `toFixed` rounds up. */
function rounded(value: number, digits: number): string {
  const scale = 10 ** digits;
  const halves = value * scale * 2;
  // Only a fraction of such a small power of two can lie exactly between; 0.15 only seems to.
  const isBetween = Number.isInteger(value * 2 ** (digits + 1)) && Number.isInteger(halves) && halves % 2 !== 0;
  return (isBetween ? (2 * Math.round(halves / 4)) / scale : value).toFixed(digits);
}
