import { ink } from "../theme";
import type { TimelineFacts } from "../types";
import { sizeOf } from "./layout";
import { drawMisses, MISS_PX } from "./marks";
import type { Model } from "./model";
import { density } from "./stretch";

const FRAME_LEAST_PX = 6;
const DIMMED = 0.55;

/** Draws the whole recorded time as a strip: the open calls of a track, the missed ticks, and the visible period. */
export class Minimap {
  private overview: HTMLCanvasElement | null = null;
  private drawnFor = "";

  constructor(
    private readonly model: Model,
    private readonly facts: TimelineFacts,
    /** The track of the main thread. */
    private readonly track: number,
  ) {}

  draw(canvas: HTMLCanvasElement, fromNs: number, toNs: number): void {
    const { ratio, width, height } = sizeOf(canvas);
    const paper = ink("paper");
    const key = `${width} ${height} ${paper}`;
    if (this.drawnFor !== key) {
      canvas.width = width;
      canvas.height = height;
      this.overview = this.drawWhole(width, height, ratio);
      this.drawnFor = key;
    }
    const context = canvas.getContext("2d", { alpha: false })!;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.overview!, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const [left, right] = this.frame(canvas.clientWidth, fromNs, toNs);
    context.globalAlpha = DIMMED;
    context.fillStyle = paper;
    // Below the marks of missed ticks, which stay red.
    const top = MISS_PX + 3;
    context.fillRect(0, top, left, canvas.clientHeight);
    context.fillRect(right, top, canvas.clientWidth, canvas.clientHeight);
    context.globalAlpha = 1;
    context.strokeStyle = ink("accent");
    context.lineWidth = 2;
    context.strokeRect(left + 1, 1, right - left - 2, canvas.clientHeight - 2);
  }

  /** The edges of the visible period in a strip. */
  frame(widthPx: number, fromNs: number, toNs: number): [leftPx: number, rightPx: number] {
    const left = Math.min(widthPx - FRAME_LEAST_PX, Math.max(0, this.px(widthPx, fromNs)));
    return [left, Math.min(widthPx, Math.max(left + FRAME_LEAST_PX, this.px(widthPx, toNs)))];
  }

  /** The part of a period that was recorded. */
  clipped([fromNs, toNs]: [number, number]): [fromNs: number, toNs: number] {
    return [Math.max(this.facts.from_ns, fromNs), Math.min(this.facts.to_ns, toNs)];
  }

  /** The moment at a pixel of a strip. */
  ns(widthPx: number, px: number): number {
    const { from_ns: from, to_ns: to } = this.facts;
    return from + (px / widthPx) * Math.max(1, to - from);
  }

  private px(widthPx: number, ns: number): number {
    const { from_ns: from, to_ns: to } = this.facts;
    return ((ns - from) / Math.max(1, to - from)) * widthPx;
  }

  private drawWhole(width: number, height: number, ratio: number): HTMLCanvasElement {
    const overview = document.createElement("canvas");
    overview.width = width;
    overview.height = height;
    const context = overview.getContext("2d", { alpha: false })!;
    context.fillStyle = ink("raised");
    context.fillRect(0, 0, width, height);
    const nsPerPx = Math.max(1, this.facts.to_ns - this.facts.from_ns) / width;
    const open = density(this.model, this.track, this.facts.from_ns, nsPerPx, width);
    const max = open.reduce((max, count) => Math.max(max, count), 1e-9);
    const room = height - (MISS_PX + 3) * ratio;
    context.fillStyle = ink("bar");
    open.forEach((value, x) => {
      const high = Math.round((value / max) * room);
      context.fillRect(x, height - high, 1, high);
    });
    const stretch = { startNs: this.facts.from_ns, nsPerPx, widthPx: width };
    drawMisses(context, this.model, stretch, 2 * ratio, MISS_PX * ratio);
    return overview;
  }
}
