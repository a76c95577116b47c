import { type Signal, signal } from "@preact/signals";
import type { Theme } from "../palette";
import type { TimelineFacts } from "../types";
import { type Layout, layoutOf, rowAt } from "./layout";
import { callAt, countsOf, firstCounted, type Model } from "./model";
import { inksOf, type Look, Picture } from "./picture";

const SNAP_PX = 4;
// A pixel less than a tenth of a nanosecond wide shows nothing more.
const LEAST_NS_PER_PX = 0.1;
const MARGIN = 0.02;

/** The visible part of a timeline, and its movements. It draws itself at most once per frame. */
export class TimelineView {
  readonly selected: Signal<number> = signal(-1);
  readonly hovered: Signal<number> = signal(-1);
  readonly layout: Layout;
  private readonly picture: Picture;
  private canvas: HTMLCanvasElement | null = null;
  private frame = 0;
  private inks: ReturnType<typeof inksOf> | null = null;
  private wanted: Uint8Array | null = null;
  private look: Look = { startNs: 0, nsPerPx: 1, scrollPx: 0, counts: null, selected: -1, hovered: -1 };

  constructor(
    readonly model: Model,
    readonly facts: TimelineFacts,
    /** The category of each spot. */
    private readonly categories: readonly (string | null)[],
  ) {
    this.layout = layoutOf(model.rows, facts.tracks);
    this.picture = new Picture(model, this.layout, facts);
  }

  show(canvas: HTMLCanvasElement, theme: Theme): void {
    const isNew = this.canvas !== canvas;
    this.canvas = canvas;
    this.inks = inksOf(this.categories, this.wanted, theme);
    if (isNew) this.all();
    this.draw();
  }

  leave(): void {
    cancelAnimationFrame(this.frame);
    this.canvas = null;
  }

  get width(): number {
    return Math.max(1, this.canvas?.clientWidth ?? 1);
  }

  /** Everything that is kept, with a small margin. */
  all(): void {
    const { from_ns: from, to_ns: to } = this.facts;
    this.span(from, to);
  }

  span(fromNs: number, toNs: number): void {
    const size = Math.max(1, toNs - fromNs);
    this.move(fromNs - MARGIN * size, (size * (1 + 2 * MARGIN)) / this.width);
  }

  pan(px: number): void {
    this.move(this.look.startNs + px * this.look.nsPerPx, this.look.nsPerPx);
  }

  scroll(px: number): void {
    const most = Math.max(0, this.layout.heightPx - (this.canvas?.clientHeight ?? 0));
    this.look = { ...this.look, scrollPx: Math.min(most, Math.max(0, this.look.scrollPx + px)) };
    this.later();
  }

  /** Zooms by a factor around the moment at `px`. */
  zoom(times: number, px = this.width / 2): void {
    const { startNs, nsPerPx } = this.look;
    const most = ((this.facts.to_ns - this.facts.from_ns || 1) * (1 + 2 * MARGIN)) / this.width;
    const next = Math.min(most, Math.max(LEAST_NS_PER_PX, nsPerPx * times));
    this.move(startNs + px * (nsPerPx - next), next);
  }

  call(px: number, y: number): number {
    const row = rowAt(this.layout, y + this.look.scrollPx);
    if (row < 0) return -1;
    const { startNs, nsPerPx } = this.look;
    return callAt(this.model, this.model.rows[row]!, startNs + px * nsPerPx, SNAP_PX * nsPerPx);
  }

  hover(call: number): void {
    if (call === this.hovered.value) return;
    this.hovered.value = call;
    this.look = { ...this.look, hovered: call };
    this.later();
  }

  select(call: number): void {
    this.selected.value = call;
    this.look = { ...this.look, selected: call };
    this.later();
  }

  /** The next call of the same row, or with a search the next one found there. */
  step(by: 1 | -1): void {
    const now = this.selected.value;
    const row = this.model.rows.find(({ from, to }) => now >= from && now < to);
    if (!row) {
      const { counts } = this.look;
      const first = counts ? firstCounted(counts, 0, this.model.spot.length) : 0;
      if (first < this.model.spot.length) this.reveal(first);
      return;
    }
    let next = now + by;
    while (next >= row.from && next < row.to && this.wanted && !this.wanted[this.model.spot[next]!]) next += by;
    if (next >= row.from && next < row.to) this.reveal(next);
  }

  /** Selects a call and makes it visible. */
  reveal(call: number): void {
    const { startNs: starts, durationNs } = this.model;
    const { startNs, nsPerPx } = this.look;
    const middle = starts[call]! + durationNs[call]! / 2;
    const size = this.width * nsPerPx;
    if (middle < startNs || middle > startNs + size) this.move(middle - size / 2, nsPerPx);
    const row = this.model.rows.findIndex(({ from, to }) => call >= from && call < to);
    const top = this.layout.rowPx[row]! - this.look.scrollPx;
    if (top < 40 || top > (this.canvas?.clientHeight ?? 0) - 30) this.scroll(top - 60);
    this.select(call);
  }

  enlarge(call: number): void {
    const start = this.model.startNs[call]!;
    const took = Math.max(1, this.model.durationNs[call]!);
    this.span(start - took * 0.1, start + took * 1.1);
  }

  /** Marks the calls of some spots, and returns their number. */
  search(wanted: Uint8Array | null, theme: Theme): number {
    this.wanted = wanted;
    const counts = wanted && countsOf(this.model, wanted);
    this.look = { ...this.look, counts };
    this.inks = inksOf(this.categories, wanted, theme);
    this.later();
    return counts ? counts[counts.length - 1]! : 0;
  }

  draw(): void {
    if (this.canvas && this.inks) this.picture.draw(this.canvas, this.look, this.inks);
  }

  later(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  private move(startNs: number, nsPerPx: number): void {
    const size = this.width * nsPerPx;
    const { from_ns: from, to_ns: to } = this.facts;
    const margin = Math.max(MARGIN * (to - from), 0.5 * size);
    const low = from - Math.min(margin, MARGIN * (to - from || 1) + 0.4 * size);
    const high = Math.max(low, to + margin - size);
    this.look = { ...this.look, startNs: Math.min(high, Math.max(low, startNs)), nsPerPx };
    this.later();
  }
}
