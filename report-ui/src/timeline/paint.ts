import { firstCounted, firstFrom, type Model, type Row } from "./model";

export type Rgb = readonly [red: number, green: number, blue: number];

/** What each node looks like, as bytes and as a pixel. */
export interface Inks {
  rgb: Uint8Array;
  pixel: Uint32Array;
  paper: Rgb;
}

/** The period and the search that a row is drawn for. */
export interface Sight {
  startNs: number;
  nsPerPx: number;
  widthPx: number;
  /** The number of matches before each call; null without a search. */
  counts: Uint32Array | null;
}

/** A call that is wide enough for its name. */
export type Named = (call: number, leftPx: number, rightPx: number) => void;

// Wider calls are drawn one by one, with a hairline between them; narrower ones share pixels.
const WIDE_PX = 2;
const HAIRLINE_FROM_PX = 4;
// A call too short for a pixel is still visible.
const MIN_PART = 0.3;

/**
 * Draws a row as one line of pixels. A pixel with several calls has the colour of the call in the middle of their summed
 * time, with the opacity of the share that they fill: exact sums at every zoom, in a few steps per pixel.
 */
export function paintRow(line: Uint32Array, model: Model, row: Row, inks: Inks, sight: Sight, named: (Named & { minPx: number }) | null): void {
  const { startNs, durationNs, node } = model;
  const { startNs: from, nsPerPx, widthPx, counts } = sight;
  const to = from + widthPx * nsPerPx;
  let call = Math.max(row.from, firstFrom(model, row.from, row.to, from) - 1);
  if (call < row.to && startNs[call]! + durationNs[call]! <= from) call += 1;
  while (call < row.to && startNs[call]! < to) {
    const left = (startNs[call]! - from) / nsPerPx;
    const right = left + durationNs[call]! / nsPerPx;
    if (right - left >= WIDE_PX) {
      const first = Math.max(0, Math.round(left));
      const last = Math.min(widthPx, Math.round(right));
      line.fill(inks.pixel[node[call]!]!, first, last - first >= HAIRLINE_FROM_PX ? last - 1 : last);
      if (named && last - first >= named.minPx) named(call, first, last);
      call += 1;
      continue;
    }
    const pixel = Math.max(0, Math.floor(left));
    const edge = from + (pixel + 1) * nsPerPx;
    let next = Math.max(call + 1, firstFrom(model, call, row.to, edge));
    // Calls of a row do not overlap: only the last that begins in a pixel can be wide, and is drawn separately.
    if (next - 1 > call && durationNs[next - 1]! >= WIDE_PX * nsPerPx) next -= 1;
    if (pixel < widthPx) {
      const part = Math.min(1, Math.max(MIN_PART, (model.sumNs[next]! - model.sumNs[call]!) / nsPerPx));
      line[pixel] = blend(inks, node[pickCall(model, call, next, counts)]!, part);
    }
    call = next;
  }
}

/** The call that represents several: a match of the search, else the call in the middle of their time. */
function pickCall(model: Model, from: number, to: number, counts: Uint32Array | null): number {
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

function blend(inks: Inks, node: number, part: number): number {
  const { rgb, paper } = inks;
  const mix = (channel: 0 | 1 | 2) => (paper[channel] + (rgb[3 * node + channel]! - paper[channel]) * part) | 0;
  return packed(mix(0), mix(1), mix(2));
}

/** A pixel of a canvas, on little-endian machines: browsers run on no others. */
export function packed(red: number, green: number, blue: number): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

export function rgbOf(color: string): Rgb {
  const number = parseInt(color.slice(1, 7), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}
