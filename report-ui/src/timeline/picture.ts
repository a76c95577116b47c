import { colorOf, inkOn, type Theme } from "../palette";
import { ink } from "../theme";
import type { TimelineFacts } from "../types";
import { moment, moments } from "./axis";
import type { Area } from "./area";
import { AXIS_PX, type Layout, ROW_PX, sizeOf } from "./layout";
import { drawAxisMarks, drawBoundaries } from "./marks";
import { type Model, rowOf } from "./model";
import { type Inks, packed, paintRow, rgbOf, type Sight } from "./paint";
import { boundaries } from "./stretch";
import type { LoopTicks } from "./ticks";

const NAMED_PX = 38;
const MOMENT_PX = 110;
// The opacity of calls that do not match the search.
const DIMMED = 0.16;
const AREA_OPACITY = 0.16;

/** The visible part of the timeline. */
export interface Look {
  startNs: number;
  nsPerPx: number;
  scrollPx: number;
  counts: Uint32Array | null;
  selected: number;
  hovered: number;
  area: Area | null;
}

/** Draws a timeline: pixels first, line by line, then the names on them. */
export class Picture {
  private pixels: Uint32Array | null = null;
  private image: ImageData | null = null;
  private line = new Uint32Array(0);
  private readonly widths = new Map<string, number>();

  constructor(
    private readonly model: Model,
    private readonly layout: Layout,
    private readonly facts: TimelineFacts,
    /** The ticks whose starts are marked. */
    private readonly lead: LoopTicks | null,
  ) {}

  draw(canvas: HTMLCanvasElement, look: Look, inks: Inks): void {
    const { ratio, width, height } = sizeOf(canvas);
    if (canvas.width !== width || canvas.height !== height || !this.image) {
      canvas.width = width;
      canvas.height = height;
      this.image = new ImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.line = new Uint32Array(width);
    }
    const context = canvas.getContext("2d", { alpha: false })!;
    // On whole pixels; otherwise calls that share a pixel would change while they move.
    const nsPerPx = look.nsPerPx / ratio;
    const startNs = Math.round(look.startNs / nsPerPx) * nsPerPx;
    const names = this.paint(look, { startNs, nsPerPx, widthPx: width, counts: look.counts }, inks, ratio, height);
    context.putImageData(this.image!, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const stretch = { startNs, nsPerPx: look.nsPerPx, widthPx: canvas.clientWidth };
    const begins = this.lead ? boundaries(this.lead, stretch) : [];
    drawBoundaries(context, begins, canvas.clientHeight);
    if (look.area) this.area(context, look.area, look, startNs, canvas.clientHeight);
    this.write(context, names, inks);
    this.frame(context, look, startNs, look.hovered, 1);
    this.frame(context, look, startNs, look.selected, 2);
    this.titles(context, look, canvas.clientWidth, canvas.clientHeight);
    this.axis(context, look, startNs, canvas.clientWidth);
    drawAxisMarks(context, this.model, begins, stretch);
  }

  private paint(look: Look, sight: Sight, inks: Inks, ratio: number, height: number): NamedCall[] {
    const { layout, model, line } = this;
    const pixels = this.pixels!;
    const paper = packed(...inks.paper);
    const names: NamedCall[] = [];
    pixels.fill(paper);
    model.rows.forEach((row, index) => {
      const top = layout.rowPx[index]! - look.scrollPx;
      const first = Math.round(top * ratio);
      const last = Math.min(height, Math.round((top + ROW_PX - 1) * ratio));
      if (last <= 0 || first >= height) return;
      line.fill(paper);
      const addName = (call: number, left: number, right: number) => {
        names.push({ call, leftPx: left / ratio, widthPx: (right - left) / ratio, topPx: top });
      };
      paintRow(line, model, row, inks, sight, Object.assign(addName, { minPx: NAMED_PX * ratio }));
      for (let y = Math.max(0, first); y < last; y += 1) pixels.set(line, y * sight.widthPx);
    });
    return names;
  }

  private write(context: CanvasRenderingContext2D, names: readonly NamedCall[], inks: Inks): void {
    context.font = `11.5px ${ink("font")}`;
    context.textBaseline = "middle";
    for (const { call, leftPx, widthPx, topPx } of names) {
      const node = this.model.node[call]!;
      const text = this.fitName(context, this.facts.nodes[node]![1], widthPx - 9);
      if (!text) continue;
      const [red, green, blue] = [0, 1, 2].map((channel) => inks.rgb[3 * node + channel]!);
      context.fillStyle = inkOn(`#${((red! << 16) | (green! << 8) | blue!).toString(16).padStart(6, "0")}`);
      context.fillText(text, leftPx + 4, topPx + ROW_PX / 2);
    }
  }

  /** The part of a name that fits, by the mean width of a letter: measuring hundreds of names per frame is too slow. */
  private fitName(context: CanvasRenderingContext2D, name: string, room: number): string {
    let width = this.widths.get(name);
    if (width === undefined) this.widths.set(name, (width = context.measureText(name.slice(0, 200)).width));
    if (width <= room) return name.slice(0, 200);
    const letters = Math.floor((room / width) * Math.min(200, name.length)) - 1;
    return letters > 1 ? `${name.slice(0, letters)}…` : "";
  }

  private frame(context: CanvasRenderingContext2D, look: Look, startNs: number, call: number, weight: number): void {
    const { model, layout } = this;
    const row = rowOf(model, call);
    if (row < 0) return;
    const left = (model.startNs[call]! - startNs) / look.nsPerPx;
    const wide = Math.max(3, model.durationNs[call]! / look.nsPerPx);
    context.strokeStyle = ink("ink");
    context.lineWidth = weight;
    const from = Math.max(-4, left);
    context.strokeRect(from, layout.rowPx[row]! - look.scrollPx + 0.5, Math.min(left + wide, 1e5) - from, ROW_PX - 2);
  }

  private titles(context: CanvasRenderingContext2D, look: Look, width: number, height: number): void {
    context.font = `11.5px ${ink("font")}`;
    context.textBaseline = "middle";
    for (const { title, topPx } of this.layout.lanes) {
      const y = topPx - look.scrollPx;
      if (y < -20 || y > height) continue;
      context.fillStyle = ink("soft");
      context.fillText(this.fitName(context, title, width - 8), 2, y + 9);
    }
  }

  private axis(context: CanvasRenderingContext2D, look: Look, startNs: number, width: number): void {
    context.fillStyle = ink("paper");
    context.fillRect(0, 0, width, AXIS_PX - 1);
    const { stepNs, at: roundTimes } = moments(startNs, startNs + width * look.nsPerPx, MOMENT_PX * look.nsPerPx);
    context.font = `11px ${ink("font")}`;
    context.textBaseline = "middle";
    for (const ns of roundTimes) {
      const x = (ns - startNs) / look.nsPerPx;
      context.fillStyle = ink("hair-strong");
      context.fillRect(Math.round(x), AXIS_PX - 7, 1, 6);
      context.fillStyle = ink("faint");
      const text = moment(ns, stepNs);
      const textWidth = context.measureText(text).width;
      // The last text is on the left of its line if it would be cut off.
      context.fillText(text, x + 4 + textWidth > width ? x - 4 - textWidth : x + 4, 10);
    }
    context.fillStyle = ink("hair");
    context.fillRect(0, AXIS_PX - 1, width, 1);
  }

  private area(context: CanvasRenderingContext2D, area: Area, look: Look, startNs: number, height: number): void {
    const [left, right] = [area.fromNs, area.toNs].map((ns) => Math.min(1e5, Math.max(-4, (ns - startNs) / look.nsPerPx))) as [number, number];
    context.fillStyle = ink("accent");
    context.globalAlpha = AREA_OPACITY;
    context.fillRect(left, AXIS_PX, right - left, height - AXIS_PX);
    context.globalAlpha = 1;
    for (const x of [left, right]) context.fillRect(x - 0.5, AXIS_PX, 1, height - AXIS_PX);
  }
}

interface NamedCall {
  call: number;
  leftPx: number;
  widthPx: number;
  topPx: number;
}

/** The colours of all nodes; those of unwanted nodes are faint. */
export function inksOf(categories: readonly (string | null)[], isWanted: Uint8Array | null, theme: Theme): Inks {
  const paper = rgbOf(ink("paper"));
  const rgb = new Uint8Array(3 * categories.length);
  const pixel = new Uint32Array(categories.length);
  categories.forEach((category, node) => {
    const full = rgbOf(colorOf(category, theme));
    const part = isWanted && !isWanted[node] ? DIMMED : 1;
    full.forEach((value, channel) => (rgb[3 * node + channel] = paper[channel]! + (value - paper[channel]!) * part));
    pixel[node] = packed(rgb[3 * node]!, rgb[3 * node + 1]!, rgb[3 * node + 2]!);
  });
  return { rgb, pixel, paper };
}
