import { firstCounted, firstFrom, type Model, type Row } from "./model";

export type Rgb = readonly [red: number, green: number, blue: number];

/** What each spot looks like, as bytes and as a pixel. */
export interface Inks {
  rgb: Uint8Array;
  pixel: Uint32Array;
  paper: Rgb;
}

/** What a row is drawn for. */
export interface Sight {
  startNs: number;
  nsPerPx: number;
  widthPx: number;
  /** How many calls before each are searched for; null where nothing is. */
  counts: Uint32Array | null;
}

/** A call wide enough to have its name in it. */
export type Named = (call: number, leftPx: number, rightPx: number) => void;

// Wider calls are drawn one by one, with a hairline between them; narrower ones share pixels.
const WIDE_PX = 2;
const HAIRLINE_FROM_PX = 4;
// A call too short for a pixel is still visible.
const LEAST_PART = 0.3;

/**
 * Draws a row as one line of pixels. A pixel with several calls has the colour of the one in the middle of their summed
 * time, with the opacity of the share that they fill: exact sums at every zoom, in a few steps per pixel.
 */
export function paintRow(line: Uint32Array, model: Model, row: Row, inks: Inks, sight: Sight, named: (Named & { leastPx: number }) | null): void {
  const { startNs, durationNs, spot } = model;
  const { startNs: from, nsPerPx, widthPx, counts } = sight;
  const to = from + widthPx * nsPerPx;
  let at = Math.max(row.from, firstFrom(model, row.from, row.to, from) - 1);
  if (at < row.to && startNs[at]! + durationNs[at]! <= from) at += 1;
  while (at < row.to && startNs[at]! < to) {
    const left = (startNs[at]! - from) / nsPerPx;
    const right = left + durationNs[at]! / nsPerPx;
    if (right - left >= WIDE_PX) {
      const first = Math.max(0, Math.round(left));
      const last = Math.min(widthPx, Math.round(right));
      line.fill(inks.pixel[spot[at]!]!, first, last - first >= HAIRLINE_FROM_PX ? last - 1 : last);
      if (named && last - first >= named.leastPx) named(at, first, last);
      at += 1;
      continue;
    }
    const pixel = Math.max(0, Math.floor(left));
    const edge = from + (pixel + 1) * nsPerPx;
    let next = Math.max(at + 1, firstFrom(model, at, row.to, edge));
    // Calls of a row do not overlap: only the last one that begins in a pixel can be wide, and is drawn separately.
    if (next - 1 > at && durationNs[next - 1]! >= WIDE_PX * nsPerPx) next -= 1;
    if (pixel < widthPx) {
      const part = Math.min(1, Math.max(LEAST_PART, (model.sumNs[next]! - model.sumNs[at]!) / nsPerPx));
      line[pixel] = blended(inks, spot[chosen(model, at, next, counts)]!, part);
    }
    at = next;
  }
}

/** The call that represents several: one that matches the search, else the one in the middle of their time. */
function chosen(model: Model, from: number, to: number, counts: Uint32Array | null): number {
  if (to - from === 1) return from;
  if (counts && counts[to]! > counts[from]!) return firstCounted(counts, from, to);
  const { sumNs } = model;
  const half = (sumNs[from]! + sumNs[to]!) / 2;
  let low = from;
  let high = to - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sumNs[middle + 1]! < half) low = middle + 1;
    else high = middle;
  }
  return low;
}

function blended(inks: Inks, spot: number, part: number): number {
  const { rgb, paper } = inks;
  const mix = (at: 0 | 1 | 2) => (paper[at] + (rgb[3 * spot + at]! - paper[at]) * part) | 0;
  return packed(mix(0), mix(1), mix(2));
}

/** A pixel as a canvas has it, on machines that write the low byte first: all that browsers run on. */
export function packed(red: number, green: number, blue: number): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

export function rgbOf(color: string): Rgb {
  const number = parseInt(color.slice(1, 7), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}
