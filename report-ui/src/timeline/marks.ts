import { ink } from "../theme";
import { AXIS_PX } from "./layout";
import type { Model } from "./model";
import { misses, type Stretch } from "./stretch";

const BOUNDARY_OPACITY = 0.16;
export const MISS_PX = 5;

/** Faint lines through all rows where ticks begin. */
export function drawBoundaries(context: CanvasRenderingContext2D, positions: readonly number[], heightPx: number): void {
  context.fillStyle = ink("ink");
  context.globalAlpha = BOUNDARY_OPACITY;
  for (const x of positions) context.fillRect(x, AXIS_PX, 1, heightPx - AXIS_PX);
  context.globalAlpha = 1;
}

/** On the axis: the starts of ticks, missed ticks in red. */
export function drawAxisMarks(context: CanvasRenderingContext2D, model: Model, positions: readonly number[], stretch: Stretch): void {
  context.fillStyle = ink("bar");
  for (const x of positions) context.fillRect(x, AXIS_PX - 4, 1, 3);
  drawMisses(context, model, stretch, AXIS_PX - 1 - MISS_PX, MISS_PX);
}

export function drawMisses(context: CanvasRenderingContext2D, model: Model, stretch: Stretch, topPx: number, heightPx: number): void {
  context.fillStyle = ink("alarm");
  for (const { missed } of model.ticks) {
    for (const [left, right] of misses(model, missed, stretch)) context.fillRect(left, topPx, Math.max(2, right - left - 1), heightPx);
  }
}
