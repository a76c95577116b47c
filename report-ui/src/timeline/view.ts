import { type Signal, signal } from "@preact/signals";
import type { Theme } from "../palette";
import type { TimelineFacts } from "../types";
import { type Area, callsIn } from "./area";
import { AXIS_PX, type Layout, layoutOf, rowAt, rowNear } from "./layout";
import { Minimap } from "./minimap";
import { callAt, countsOf, firstCounted, type Model, rowOf } from "./model";
import { inksOf, type Look, Picture } from "./picture";
import { leading, type LoopTicks, tickAt } from "./ticks";

const SNAP_PX = 4;
// Pixels of less than a tenth of a nanosecond show no further detail.
const MIN_NS_PER_PX = 0.1;
const MARGIN = 0.02;
// Sums over more calls than this take longer than a frame.
const SUMMED_AT_ONCE = 200_000;

/** The visible part of a timeline, and its movements. It draws itself at most once per frame. */
export class TimelineView {
  readonly selected: Signal<number> = signal(-1);
  readonly hovered: Signal<number> = signal(-1);
  /** The area whose time is summed. */
  readonly area: Signal<Area | null> = signal(null);
  /** The call at which an area begins whose end is not chosen yet; -1 if there is none. */
  readonly markedCall: Signal<number> = signal(-1);
  readonly layout: Layout;
  readonly minimap: Minimap;
  private readonly lead: LoopTicks | null;
  private strip: HTMLCanvasElement | null = null;
  private readonly picture: Picture;
  private canvas: HTMLCanvasElement | null = null;
  private frame = 0;
  private inks: ReturnType<typeof inksOf> | null = null;
  private isWanted: Uint8Array | null = null;
  private look: Look = { startNs: 0, nsPerPx: 1, scrollPx: 0, counts: null, selected: -1, hovered: -1, area: null };

  constructor(
    readonly model: Model,
    readonly facts: TimelineFacts,
    /** The category of each node. */
    private readonly categories: readonly (string | null)[],
    /** The paths of the loops, in the order of all outputs. */
    loops: readonly string[],
  ) {
    this.layout = layoutOf(model.rows, facts.tracks);
    this.lead = leading(model.ticks, facts, loops);
    this.picture = new Picture(model, this.layout, facts, this.lead);
    this.minimap = new Minimap(model, facts, this.lead?.track ?? 0);
  }

  show(canvas: HTMLCanvasElement, strip: HTMLCanvasElement, theme: Theme): void {
    const isNew = this.canvas !== canvas;
    this.canvas = canvas;
    this.strip = strip;
    this.inks = inksOf(this.categories, this.isWanted, theme);
    if (isNew) this.all();
    this.draw();
  }

  leave(): void {
    cancelAnimationFrame(this.frame);
    this.canvas = this.strip = null;
  }

  get width(): number {
    return Math.max(1, this.canvas?.clientWidth ?? 1);
  }

  /** The whole recorded time, with a small margin. */
  all(): void {
    const { from_ns: from, to_ns: to } = this.facts;
    this.span(from, to);
  }

  span(fromNs: number, toNs: number): void {
    const size = Math.max(1, toNs - fromNs);
    this.move(fromNs - MARGIN * size, (size * (1 + 2 * MARGIN)) / this.width);
  }

  /** The visible period. */
  get period(): [fromNs: number, toNs: number] {
    const { startNs, nsPerPx } = this.look;
    return [startNs, startNs + this.width * nsPerPx];
  }

  /** The shortest period that can be shown. */
  get minNs(): number {
    return MIN_NS_PER_PX * this.width;
  }

  /** A period without a margin. */
  showPeriod(fromNs: number, toNs: number): void {
    this.move(fromNs, Math.max(this.minNs, toNs - fromNs) / this.width);
  }

  /** The moment at a pixel. */
  moment(px: number): number {
    return this.look.startNs + px * this.look.nsPerPx;
  }

  /** The track at a height. */
  track(y: number): number {
    return this.model.rows[rowNear(this.layout, y + this.look.scrollPx)]?.track ?? 0;
  }

  /** Selects the time between two moments of a track. */
  selectArea(oneNs: number, otherNs: number, track: number, isOpen: boolean): void {
    const { from_ns: from, to_ns: to } = this.facts;
    const fromNs = Math.max(from, Math.min(oneNs, otherNs));
    const toNs = Math.min(to, Math.max(oneNs, otherNs));
    this.markedCall.value = -1;
    this.setArea(toNs > fromNs ? { fromNs, toNs, track, isOpen } : null);
  }

  /** Selects the time of a call, or the time from the start of the marked call to the end of this one. */
  mark(call: number): void {
    if (call < 0) return;
    const { startNs, durationNs, rows } = this.model;
    const isFirst = this.markedCall.value < 0;
    const other = isFirst ? call : this.markedCall.value;
    const [end, otherEnd] = [call, other].map((index) => startNs[index]! + durationNs[index]!) as [number, number];
    this.selectArea(Math.min(startNs[call]!, startNs[other]!), Math.max(end, otherEnd), rows[rowOf(this.model, call)]!.track, false);
    this.markedCall.value = isFirst ? call : -1;
  }

  /** Clears the area; returns whether there was one. */
  clearArea(): boolean {
    const hadArea = this.area.value !== null;
    this.markedCall.value = -1;
    this.setArea(null);
    return hadArea;
  }

  /** Whether the sums of an area can be shown now: for many calls, only when its end no longer moves. */
  isSummed(area: Area): boolean {
    return !area.isOpen || callsIn(this.model, area) <= SUMMED_AT_ONCE;
  }

  private setArea(area: Area | null): void {
    this.area.value = area;
    this.change({ area });
  }

  pan(px: number): void {
    this.move(this.look.startNs + px * this.look.nsPerPx, this.look.nsPerPx);
  }

  scroll(px: number): void {
    const max = Math.max(0, this.layout.heightPx - (this.canvas?.clientHeight ?? 0));
    this.change({ scrollPx: Math.min(max, Math.max(0, this.look.scrollPx + px)) });
  }

  /** Zooms by a factor around the moment at `px`. */
  zoom(times: number, px = this.width / 2): void {
    const { startNs, nsPerPx } = this.look;
    const max = ((this.facts.to_ns - this.facts.from_ns || 1) * (1 + 2 * MARGIN)) / this.width;
    const next = Math.min(max, Math.max(MIN_NS_PER_PX, nsPerPx * times));
    this.move(startNs + px * (nsPerPx - next), next);
  }

  call(px: number, y: number): number {
    const { startNs, nsPerPx } = this.look;
    if (y < AXIS_PX) return tickAt(this.model, this.lead, startNs + px * nsPerPx, SNAP_PX * nsPerPx);
    const row = rowAt(this.layout, y + this.look.scrollPx);
    if (row < 0) return -1;
    return callAt(this.model, this.model.rows[row]!, startNs + px * nsPerPx, SNAP_PX * nsPerPx);
  }

  hover(call: number): void {
    if (call === this.hovered.value) return;
    this.hovered.value = call;
    this.change({ hovered: call });
  }

  select(call: number): void {
    this.selected.value = call;
    this.change({ selected: call });
  }

  /** Selects the next call of the same row, or during a search the next match there. */
  step(by: 1 | -1): void {
    const selected = this.selected.value;
    const row = this.model.rows[rowOf(this.model, selected)];
    if (!row) {
      const { counts } = this.look;
      const first = counts ? firstCounted(counts, 0, this.model.node.length) : 0;
      if (first < this.model.node.length) this.reveal(first);
      return;
    }
    let next = selected + by;
    while (next >= row.from && next < row.to && this.isWanted && !this.isWanted[this.model.node[next]!]) next += by;
    if (next >= row.from && next < row.to) this.reveal(next);
  }

  /** Selects a call and makes it visible. */
  reveal(call: number): void {
    const { startNs: starts, durationNs } = this.model;
    const { startNs, nsPerPx } = this.look;
    const middle = starts[call]! + durationNs[call]! / 2;
    const size = this.width * nsPerPx;
    if (middle < startNs || middle > startNs + size) this.move(middle - size / 2, nsPerPx);
    const row = rowOf(this.model, call);
    const top = this.layout.rowPx[row]! - this.look.scrollPx;
    if (top < 40 || top > (this.canvas?.clientHeight ?? 0) - 30) this.scroll(top - 60);
    this.select(call);
  }

  enlarge(call: number): void {
    const start = this.model.startNs[call]!;
    const durationNs = Math.max(1, this.model.durationNs[call]!);
    this.span(start - durationNs * 0.1, start + durationNs * 1.1);
  }

  /** Marks the calls of some nodes, and returns their number. */
  search(isWanted: Uint8Array | null, theme: Theme): number {
    this.isWanted = isWanted;
    const counts = isWanted && countsOf(this.model, isWanted);
    this.inks = inksOf(this.categories, isWanted, theme);
    this.change({ counts });
    return counts ? counts[counts.length - 1]! : 0;
  }

  draw(): void {
    if (this.canvas && this.inks) this.picture.draw(this.canvas, this.look, this.inks);
    if (this.strip) this.minimap.draw(this.strip, ...this.period);
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
    this.change({ startNs: Math.min(high, Math.max(low, startNs)), nsPerPx });
  }

  private change(look: Partial<Look>): void {
    this.look = { ...this.look, ...look };
    this.later();
  }
}
