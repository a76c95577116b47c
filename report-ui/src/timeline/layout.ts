import type { TimelineFacts } from "../types";
import type { Row } from "./model";

export const ROW_PX = 18;
export const AXIS_PX = 24;
const TITLE_PX = 17;
const GAP_PX = 6;

/** A track in the picture: its title, and its rows below. */
export interface Lane {
  title: string;
  topPx: number;
}

export interface Layout {
  lanes: Lane[];
  /** The top of each row, from the top of the whole picture. */
  rowPx: Float64Array;
  heightPx: number;
}

/** Tracks one below the other, grouped by process; the first has the name of the process. */
export function layoutOf(rows: readonly Row[], tracks: TimelineFacts["tracks"]): Layout {
  const lanes: Lane[] = [];
  const rowPx = new Float64Array(rows.length);
  const several = new Set(tracks.map((track) => track.process)).size > 1;
  let y = AXIS_PX;
  let before = -1;
  rows.forEach((row, index) => {
    if (row.track !== before) {
      before = row.track;
      const { process_title: process, title } = tracks[row.track]!;
      lanes.push({ title: several ? `${process} · ${title}` : title, topPx: y });
      y += TITLE_PX;
    }
    rowPx[index] = y;
    y += ROW_PX;
    if (rows[index + 1]?.track !== row.track) y += GAP_PX;
  });
  return { lanes, rowPx, heightPx: y };
}

/** The size of a canvas on the screen, in the screen's own pixels. */
export function sizeOf(canvas: HTMLCanvasElement): { ratio: number; width: number; height: number } {
  const ratio = devicePixelRatio || 1;
  const pixels = (px: number) => Math.max(1, Math.round(px * ratio));
  return { ratio, width: pixels(canvas.clientWidth), height: pixels(canvas.clientHeight) };
}

/** The row at a height, or the nearest above it, or the first. */
export function rowNear(layout: Layout, y: number): number {
  return Math.max(0, layout.rowPx.findLastIndex((top) => top <= y));
}

/** The row at a height; -1 between them. */
export function rowAt(layout: Layout, y: number): number {
  return layout.rowPx.findIndex((top) => y >= top && y < top + ROW_PX);
}
